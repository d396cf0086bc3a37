package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing/fstest"
)

// treeOf returns the files of a commit.
func treeOf(root, commit string) (fs.FS, error) {
	archive, err := exec.Command("git", "-C", root, "archive", "--format=tar", commit).Output()
	if err != nil {
		return nil, fmt.Errorf("name a commit of the repository with -since, not %s: git archive: %w", commit, err)
	}
	tree := fstest.MapFS{}
	for files := tar.NewReader(bytes.NewReader(archive)); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return tree, nil
		}
		if err != nil {
			return nil, err
		}
		if head.Typeflag != tar.TypeReg || !strings.HasSuffix(head.Name, ".md") && head.Name != "testdata/deviations.txt" {
			continue
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		tree[head.Name] = &fstest.MapFile{Data: data}
	}
}

// commitOf returns the whole name of a commit.
func commitOf(root, commit string) (string, error) {
	name, err := exec.Command("git", "-C", root, "rev-parse", "--verify", commit+"^{commit}").Output()
	if err != nil {
		return "", fmt.Errorf("name a commit of the repository with -since, not %s: git rev-parse: %w", commit, err)
	}
	return strings.TrimSpace(string(name)), nil
}

// kind is a kind of facts that no change of the pages may lose.
type kind struct {
	name  string
	read  func(tree fs.FS) ([]string, error)
	alike func(before, now string) bool // reports whether one may stand for the other
}

var kinds = []kind{
	{name: "sections of errors", read: errorSections, alike: same},
	{name: "lines of deviations with their tests", read: deviations, alike: sameTest},
	{name: "cells of the guarantees", read: guarantees, alike: same},
	{name: "executed blocks", read: blocks, alike: mostLines},
}

func same(before, now string) bool { return before == now }

// difference returns the facts that nothing today stands for, and those for which something
// else does. A fact that was there twice has to be there twice.
func difference(before, now []string, alike func(before, now string) bool) (missing, changed []string) {
	left := slices.Clone(now)
	var others []string
	for _, fact := range before {
		if at := slices.Index(left, fact); at >= 0 {
			left = slices.Delete(left, at, at+1)
		} else {
			others = append(others, fact)
		}
	}
	for _, fact := range others {
		if at := slices.IndexFunc(left, func(other string) bool { return alike(fact, other) }); at >= 0 {
			left = slices.Delete(left, at, at+1)
			changed = append(changed, fact)
		} else {
			missing = append(missing, fact)
		}
	}
	return missing, changed
}

// shown returns the beginning of a fact, on one line.
func shown(fact string) string {
	line := []rune(strings.Join(strings.Fields(fact), " "))
	if len(line) > 160 {
		return string(line[:160]) + " …"
	}
	return string(line)
}

var errorHead = regexp.MustCompile(`(?m)^### ([a-z_-]+)$`)

// errorSections returns the names of the sections in which errors end.
func errorSections(tree fs.FS) (names []string, err error) {
	text, err := fs.ReadFile(tree, "docs/errors.md")
	for _, m := range errorHead.FindAllSubmatch(text, -1) {
		names = append(names, string(m[1]))
	}
	return names, err
}

// deviations returns the test and the example of each line of the deviations: its words may
// change, and the engines may be written otherwise.
func deviations(tree fs.FS) (lines []string, err error) {
	text, err := fs.ReadFile(tree, "docs/deviations.md")
	if err != nil {
		return nil, err
	}
	pins, err := fs.ReadFile(tree, "testdata/deviations.txt")
	if err == nil {
		return pinnedLines(string(text), string(pins)), nil
	}
	for row := range strings.Lines(string(text)) {
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(row), " |"), " | ")
		if len(cells) == 5 && cells[4] != "test" {
			lines = append(lines, cells[4]+": "+cells[2])
		}
	}
	return lines, nil
}

// sameTest reports whether two lines have the same test.
func sameTest(before, now string) bool {
	before, _, _ = strings.Cut(before, ": ")
	now, _, _ = strings.Cut(now, ": ")
	return before == now
}

// pinnedLines reads a page whose tests stand in a file of their own: each line of the file has
// the folder and the test, a colon, and the beginning of a line of the page.
func pinnedLines(text, pins string) (lines []string) {
	for row := range strings.Lines(text) {
		row, isRow := strings.CutPrefix(row, "| ")
		cells := strings.Split(strings.TrimSuffix(strings.TrimSpace(row), " |"), " | ")
		if !isRow || cells[0] == "what" || len(cells) < 3 {
			continue
		}
		test, length := "", 0
		for pin := range strings.Lines(pins) {
			name, beginning, _ := strings.Cut(strings.TrimSpace(pin), ": ")
			if strings.HasPrefix(cells[0], beginning) && len(beginning) > length {
				test, length = name, len(beginning)
			}
		}
		lines = append(lines, test+": "+cells[len(cells)-2])
	}
	return lines
}

var guaranteeTable = regexp.MustCompile(`(?s)<!-- (table of [a-z]+).*?<!-- end of table`)

// guarantees returns each cell of the generated tables, with its table, row and column.
func guarantees(tree fs.FS) (cells []string, err error) {
	text, err := fs.ReadFile(tree, "docs/guarantees.md")
	for _, m := range guaranteeTable.FindAllSubmatch(text, -1) {
		var head []string
		for row := range strings.Lines(string(m[0])) {
			row, isRow := strings.CutPrefix(strings.TrimSpace(row), "| ")
			if !isRow {
				continue
			}
			values := strings.Split(strings.TrimSuffix(row, " |"), " | ")
			if head == nil {
				head = values
			}
			for i, value := range values[min(2, len(values)):] {
				if i+2 < len(head) {
					cells = append(cells, fmt.Sprintf("%s: %s, %s, %s: %s", m[1], values[0], values[1], head[i+2], value))
				}
			}
		}
	}
	return cells, err
}

var executed = regexp.MustCompile("(?ms)^[ \t]*```((?:go|yaml|sql|sh)\\b[^\n]*)\n(.*?)^[ \t]*```")

// blocks returns the blocks of the pages that the tests compile, read or execute.
func blocks(tree fs.FS) (all []string, err error) {
	names, err := pages(tree)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return nil, err
		}
		for _, m := range executed.FindAllSubmatch(text, -1) {
			language, _, _ := strings.Cut(string(m[1]), " ")
			all = append(all, language+"\n"+string(m[2]))
		}
	}
	return all, nil
}

// mostLines reports whether half of the lines of a block, or more, are in another one of the
// same language.
func mostLines(before, now string) bool {
	languageBefore, before, _ := strings.Cut(before, "\n")
	languageNow, now, _ := strings.Cut(now, "\n")
	if languageBefore != languageNow {
		return false
	}
	there := map[string]bool{}
	for line := range strings.Lines(now) {
		there[strings.TrimSpace(line)] = true
	}
	kept, all := 0, 0
	for line := range strings.Lines(before) {
		if line = strings.TrimSpace(line); line != "" {
			all++
			if there[line] {
				kept++
			}
		}
	}
	return 2*kept >= all
}
