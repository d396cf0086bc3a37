package faults_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
)

// The outcomes of a statement in a journal.
const (
	committed  = 'c' // its transaction has committed: the rows are there
	rolledBack = 'r' // they are not, but keys were drawn
	broken     = 'x' // it has broken a law that its process could see
	failed     = 'e' // a step has ended with an error: what was sent may be there or not
)

// entry is a line of a journal.
type entry struct {
	what  byte
	stmt  int64 // number of the statement
	first int64 // its first key, where the others follow it
	rows  int64
	text  string // of broken and failed; of others the keys, where they do not
}

// journal is where a process writes the outcomes of its statements, after the fact: each
// entry is true, but some outcomes may be missing.
type journal struct{ *os.File }

func openJournal(path string) (*journal, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	return &journal{f}, err
}

// write writes a line by one call, of which SIGKILL leaves all or nothing, or
// the beginning of the last line.
func (j *journal) write(entries ...entry) {
	var b bytes.Buffer
	for _, e := range entries {
		fmt.Fprintf(&b, "%c %d %d %d %q\n", e.what, e.stmt, e.first, e.rows, e.text)
	}
	if _, err := j.Write(b.Bytes()); err != nil {
		panic(err) // ends a process that is of no more use
	}
}

func (j *journal) fail(err error) { j.write(entry{what: failed, text: err.Error()}) }

// readJournal returns the entries of a journal, as far as they are whole.
func readJournal(path string) ([]entry, error) {
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil // killed before it came so far
	}
	if err != nil {
		return nil, err
	}
	var all []entry
	for line := range strings.Lines(string(text)) {
		if !strings.HasSuffix(line, "\n") {
			break
		}
		var e entry
		if _, err := fmt.Sscanf(line, "%c %d %d %d %q\n", &e.what, &e.stmt, &e.first, &e.rows, &e.text); err != nil {
			return nil, fmt.Errorf("journal: %q: %w", line, err)
		}
		all = append(all, e)
	}
	return all, nil
}
