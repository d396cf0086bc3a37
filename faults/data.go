package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
)

// The results of a fault.
const (
	killed   = "killed"
	survives = "survives" // no test that reaches the fault fails
	open     = "open"     // not all tests that reach the fault have been run
	// notUndone is the result of a commit that cannot be undone any more. An older commit
	// is used instead.
	notUndone = "not undone"
)

// entry is a fault with its result: a line of the file of results.
type entry struct {
	ID     string `json:"id"` // the fault's ID: mutant-017 or undone-1a2b3c4
	Result string `json:"result"`
	// Program and Test name the test that kills the fault (fails because of it); the test's
	// package may have moved since.
	Program string `json:"program,omitempty"`
	Test    string `json:"test,omitempty"`
	// Mutant is set if the fault is a mutant (a single change of the code).
	Mutant *key `json:"mutant,omitempty"`
	// Commit and Subject are set if the fault is a commit that is undone.
	Commit  string `json:"commit,omitempty"`
	Subject string `json:"subject,omitempty"`
	// Note is a remark for readers.
	Note string `json:"note,omitempty"`
}

// String describes the fault and its result.
func (e *entry) String() string {
	what := e.Subject
	if e.Mutant != nil {
		what = fmt.Sprintf("%s %s: %s: %s", e.Mutant.Package, e.Mutant.Function, e.Mutant.Kind, e.Mutant.Node)
	}
	result := e.Result
	if e.Test != "" {
		result += " by " + test{e.Program, e.Test}.String()
	}
	if e.Note != "" {
		result += ": " + e.Note
	}
	return e.ID + ": " + what + ": " + result
}

// readEntries reads a file of results. It returns none if the file does not exist.
func readEntries(name string) (all []entry, err error) {
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	for s := bufio.NewScanner(strings.NewReader(string(text))); s.Scan(); {
		var e entry
		if err := json.Unmarshal(s.Bytes(), &e); err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	return all, nil
}

// writeEntries writes a file of results.
func writeEntries(name string, all []entry) error {
	var text strings.Builder
	for _, e := range all {
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false) // write operators such as < and & as they are
		if err := encoder.Encode(e); err != nil {
			return err
		}
	}
	return os.WriteFile(name, []byte(text.String()), 0o666)
}
