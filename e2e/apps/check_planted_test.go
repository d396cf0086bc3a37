package apps_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/check"
)

// plantedApart are the rules whose faults are no tables and no policies, each with the
// folder and the test that plants one.
var plantedApart = map[string]string{
	"clock":            ". TestClock",
	"connection-limit": ". TestConnectionLimit",
	"dialect":          "../../cmd/keyfill TestCheck",
	"engine":           ". TestEngine",
	"galera":           ". TestGalera",
	"handback":         ". TestHandback",
	"hot-state":        ". TestHotState",
	"lock":             ". TestLocks",
	"not-looked":       ". TestRightToLook",
	"proxy":            ". TestPooler",
	"rights":           ". TestRights",
	"session-read":     "../keys TestSessionReadsChecked",
	"two-way":          ". TestTwoWay",
}

// documented is a row of the rules in docs/check.md.
var documented = regexp.MustCompile("(?m)^\\| `([a-z-]+)` \\| (?:error|warning|info)")

// TestRulesArePlanted: each rule has a row in docs/check.md, and a test that plants a fault
// for it.
func TestRulesArePlanted(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.FromSlash("../../docs/check.md"))
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, row := range documented.FindAllStringSubmatch(string(page), -1) {
		told = append(told, row[1])
	}
	slices.Sort(told)
	rules := slices.Sorted(slices.Values(check.Rules()))
	if !slices.Equal(told, rules) {
		t.Errorf("docs/check.md has the rules %q, the check has %q", told, rules)
	}
	planted := map[string]bool{}
	for _, f := range slices.Concat(sqliteFaults, mariadbFaults, postgresqlFaults) {
		planted[f.rule] = true
	}
	for _, rule := range rules {
		test := plantedApart[rule]
		switch {
		case planted[rule] && test != "":
			t.Errorf("%s is planted by TestFaults: take %s out of plantedApart", rule, test)
		case planted[rule]:
		case test == "":
			t.Errorf("no test plants a fault for %s: write one into the faults of an engine", rule)
		case !isPlantedBy(t, rule, test):
			t.Errorf("%s does not look for a finding of %s", test, rule)
		}
	}
}

// isPlantedBy reports whether a test, ". TestClock", names a rule.
func isPlantedBy(t *testing.T, rule, test string) bool {
	t.Helper()
	folder, name, _ := strings.Cut(test, " ")
	files, err := filepath.Glob(filepath.Join(filepath.FromSlash(folder), "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`["\s]` + rule + `"`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, body, found := strings.Cut(string(text), "\nfunc "+name+"("); found {
			body, _, _ = strings.Cut(body, "\n}\n")
			return named.MatchString(body)
		}
	}
	return false
}
