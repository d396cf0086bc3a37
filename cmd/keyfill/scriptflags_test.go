package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestScriptsTakeEveryFlag: each command, and each flag of it, is in a line of
// testdata/script, by which what it prints is compared. A flag that commands share,
// described by the same words, is in a line of one of them.
func TestScriptsTakeEveryFlag(t *testing.T) {
	names, err := filepath.Glob(filepath.Join("testdata", "script", "*.txtar"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	command := regexp.MustCompile(`^(?:! )?keyfill ([a-z]+)(.*)$`)
	flag := regexp.MustCompile(`(?m)^ +(?:-(\w), )?--([a-z-]+)(.*)$`)
	taken := map[string]string{} // the lines of each command
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		script, _, _ := strings.Cut(string(text), "\n-- ")
		for line := range strings.Lines(script) {
			if m := command.FindStringSubmatch(strings.TrimSpace(line)); m != nil {
				taken[m[1]] += m[2] + " \n"
			}
		}
	}
	missing, seen := map[string]string{}, map[string]bool{} // by the name and the words of the flag
	for _, cmd := range newRoot().Commands() {
		lines, isTaken := taken[cmd.Name()]
		if !isTaken {
			t.Errorf("keyfill %s is in no script", cmd.Name())
		}
		for _, m := range flag.FindAllStringSubmatch(cmd.LocalFlags().FlagUsages(), -1) {
			shared := m[2] + strings.Join(strings.Fields(m[3]), " ")
			short := m[1] != "" && strings.Contains(lines, " -"+m[1]+" ")
			if short || strings.Contains(lines, " --"+m[2]+" ") || strings.Contains(lines, " --"+m[2]+"=") {
				seen[shared] = true
			} else {
				missing[shared] = cmd.Name() + " --" + m[2]
			}
		}
	}
	for shared, name := range missing {
		if !seen[shared] {
			t.Errorf("keyfill %s is in no script", name)
		}
	}
}
