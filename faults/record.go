package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// recorder searches tests that kill faults, and saves each result at once, so that an
// interrupted search can be continued.
type recorder struct {
	root, work, file string
	seed             uint64
	mutants, commits int
	upTo             string    // commit
	until            time.Time // when the search ends early; the zero time means never
	only             *regexp.Regexp
	log              io.Writer
	entries          []entry
	clean            *searcher // runs tests in a tree that has no fault unless one is switched on
}

// save writes the results.
func (r *recorder) save() error { return writeEntries(r.file, r.entries) }

// entry returns the entry of a fault. If there is none, it adds a new entry.
func (r *recorder) entry(id string) *entry {
	for i := range r.entries {
		if r.entries[i].ID == id {
			return &r.entries[i]
		}
	}
	r.entries = append(r.entries, entry{ID: id, Result: open})
	return &r.entries[len(r.entries)-1]
}

// mutantSearch searches tests that kill mutants (single changes of the code).
type mutantSearch struct {
	*recorder
	s       *searcher
	chosen  []candidate
	tests   [][]test            // the tests that reach each mutant (a single change of the code)
	cleared map[string][]string // the mutants (single changes of the code) that are known to pass a test, by test: the test does not kill them
}

// recordMutants draws mutants (single changes of the code) and searches for each a test
// that kills it.
func (r *recorder) recordMutants(reached *reach) error {
	t, chosen, drawn, err := r.mutantTree()
	if err != nil {
		return err
	}
	s, err := newSearcher(t, reached, r.log)
	if err != nil {
		return err
	}
	r.clean, s.until, t.fixed = s, r.until, true
	m := &mutantSearch{recorder: r, s: s, chosen: chosen, tests: make([][]test, len(chosen)), cleared: map[string][]string{}}
	if err := readJSON(m.clearedFile(), &m.cleared); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	index := blocksByFile(reached.Blocks)
	for i, c := range chosen {
		n := index.find(c, reached.Blocks)
		for _, t := range reached.Tests {
			if _, ok := slices.BinarySearch(t.Blocks, n); ok {
				m.tests[i] = append(m.tests[i], t.Test)
			}
		}
	}
	if drawn && !reached.partial {
		if err := m.take(); err != nil {
			return err
		}
	}
	for i := range m.chosen {
		if err := m.one(i, reached.partial); err != nil {
			return err
		}
	}
	if err := m.together(); err != nil || reached.partial {
		return err
	}
	for i, c := range m.chosen {
		if c.id == "" {
			continue
		}
		if e := r.entry(c.id); e.Result == open {
			e.Result, e.Note = survives, ""
			if len(m.tests[i]) == 0 {
				e.Note = "no test reaches it"
			}
		}
	}
	return r.save()
}

// clearedFile returns the name of the file with the tests that have passed with mutants
// (single changes of the code).
func (m *mutantSearch) clearedFile() string { return filepath.Join(m.work, "cleared.json") }

// take keeps the first drawn mutants (single changes of the code) that a test reaches, as
// many as are wanted. It keeps all mutants that are recorded already, whether a test
// reaches them or not.
func (m *mutantSearch) take() error {
	var taken int
	for i := range m.chosen {
		if len(m.tests[i]) > 0 && taken < m.mutants {
			taken++
			continue
		}
		m.entries = slices.DeleteFunc(m.entries, func(e entry) bool { return e.ID == m.chosen[i].id })
		m.chosen[i].id = ""
	}
	if taken < m.mutants {
		return fmt.Errorf("tests reach only %d of %d mutants", taken, len(m.chosen))
	}
	return nil
}

// found records that a test kills a mutant (a single change of the code).
func (m *mutantSearch) found(i int, by test) error {
	e := m.entry(m.chosen[i].id)
	e.Result, e.Program, e.Test, e.Note = killed, by.Program, by.Name, ""
	fmt.Fprintln(m.log, e)
	return m.save()
}

// one runs the test that has killed a mutant (a single change of the code) in an earlier
// search, and then the quick tests that reach it.
func (m *mutantSearch) one(i int, partial bool) error {
	if m.chosen[i].id == "" {
		return nil
	}
	e := m.entry(m.chosen[i].id)
	e.Mutant = &m.chosen[i].key
	if e.Result != open || e.Note == quickSearched {
		return nil
	}
	all := m.s.batches(named(m.tests[i], e.Test))
	var cheap []test
	for _, t := range m.tests[i] {
		if m.isCheap(t) {
			cheap = append(cheap, t)
		}
	}
	by, err := m.s.single(append(all, m.s.batches(cheap)...), faultEnv(i))
	if err != nil {
		return err
	}
	if by != nil {
		return m.found(i, *by)
	}
	e.Program, e.Test = "", ""
	if !partial {
		e.Note = quickSearched
	}
	fmt.Fprintln(m.log, e)
	return m.save()
}

// isCheap reports whether a test is so quick that it is run with one mutant (a single
// change of the code) after the other.
func (m *mutantSearch) isCheap(t test) bool {
	return m.s.programs[t.Program].rank == 0 && m.s.seconds[t] < quick.Seconds()
}

// together runs the tests that are not cheap, each with all mutants (single changes of the
// code) switched on that no test has killed yet.
func (m *mutantSearch) together() error {
	reaching := map[test][]int{}
	for i, c := range m.chosen {
		if c.id == "" || m.entry(c.id).Result != open {
			continue
		}
		for _, t := range m.tests[i] {
			if !m.isCheap(t) && !slices.Contains(m.cleared[t.String()], c.id) {
				reaching[t] = append(reaching[t], i)
			}
		}
	}
	return m.s.group(reaching, m.found, func(faults []int, t test) error {
		for _, n := range faults {
			m.cleared[t.String()] = append(m.cleared[t.String()], m.chosen[n].id)
		}
		return writeJSON(m.clearedFile(), m.cleared)
	})
}

// quickSearched is the note of a mutant (a single change of the code) that no quick test
// kills, while it is searched.
const quickSearched = "the quick tests without servers do not kill it"

// mutantTree makes a copy with mutants (single changes of the code), or opens one that an
// interrupted search has left. drawn reports whether the mutants are drawn anew; otherwise
// they are those recorded in the file of results.
func (r *recorder) mutantTree() (t *tree, chosen []candidate, drawn bool, err error) {
	to := filepath.Join(r.work, "mutants")
	var saved savedMutants
	if err := readJSON(to+".json", &saved); err == nil {
		t, err := openTree(to)
		return t, saved.open(), saved.Drawn, err
	}
	if err := errors.Join(os.RemoveAll(to), os.RemoveAll(to+".bin")); err != nil {
		return nil, nil, false, err
	}
	if t, err = copyTree(r.root, to); err != nil {
		return nil, nil, false, err
	}
	found, err := findCandidates(t)
	if err != nil {
		return nil, nil, false, err
	}
	keys := r.keys()
	if drawn = len(keys) == 0; drawn {
		all := drawing(found, r.seed)
		fmt.Fprintf(r.log, "%d changes of %d statements\n", len(found), len(all))
		// Choose more mutants (single changes of the code) than are needed, since no test
		// reaches some of them.
		chosen, err = t.choose(all, min(len(all), r.mutants*5/4+5))
		for i := range chosen {
			chosen[i].id = fmt.Sprintf("mutant-%03d", i)
		}
	} else {
		chosen, err = r.recorded(t, found, keys)
	}
	if err != nil {
		return nil, nil, false, err
	}
	if err := t.commit("mutants"); err != nil {
		return nil, nil, false, err
	}
	return t, chosen, drawn, writeJSON(to+".json", save(chosen, drawn))
}

// recorded writes the recorded mutants (single changes of the code) into a tree.
func (r *recorder) recorded(t *tree, found []candidate, keys map[key]string) (chosen []candidate, err error) {
	for _, c := range found {
		if id, ok := keys[c.key]; ok {
			c.id = id
			chosen = append(chosen, c)
		}
	}
	if len(chosen) < len(keys) {
		return nil, fmt.Errorf("of %d mutants of %s the code has %d: remove the other lines", len(keys), r.file, len(chosen))
	}
	bad, err := t.mutate(chosen)
	if err == nil && len(bad) > 0 {
		err = fmt.Errorf("%d mutants do not compile, %s is one: remove their lines", len(bad), chosen[bad[0]].id)
	}
	return chosen, err
}

// keys returns the keys of the recorded mutants (single changes of the code), with their
// identifiers.
func (r *recorder) keys() map[key]string {
	keys := map[key]string{}
	for _, e := range r.entries {
		if e.Mutant != nil {
			keys[*e.Mutant] = e.ID
		}
	}
	return keys
}

// named returns the tests with a name.
func named(tests []test, name string) (found []test) {
	for _, t := range tests {
		if t.Name == name {
			found = append(found, t)
		}
	}
	return found
}

// savedMutants is what a search needs to know about the mutants (single changes of the
// code) that are in a tree already.
type savedMutants struct {
	Drawn   bool
	Mutants []savedMutant
}

type savedMutant struct {
	ID        string
	Key       key
	File      string
	Line, Col int
}

func save(all []candidate, drawn bool) (saved savedMutants) {
	saved.Drawn = drawn
	for _, c := range all {
		saved.Mutants = append(saved.Mutants, savedMutant{c.id, c.key, c.file, c.line, c.col})
	}
	return saved
}

func (s savedMutants) open() (all []candidate) {
	for _, m := range s.Mutants {
		all = append(all, candidate{id: m.ID, key: m.Key, file: m.File, line: m.Line, col: m.Col})
	}
	return all
}

// recordCommits undoes commits one after the other, until as many as are wanted could be
// undone, and searches for each a test that fails.
func (r *recorder) recordCommits(reached *reach) error {
	to := filepath.Join(r.work, "undone")
	if err := os.RemoveAll(to); err != nil {
		return err
	}
	t, err := copyTree(r.root, to)
	if err != nil {
		return err
	}
	if err := t.commit("as it is"); err != nil {
		return err
	}
	all, err := t.hashes(r.upTo)
	if err != nil {
		return err
	}
	had := 0
	for _, hash := range all {
		if had == r.commits {
			break
		}
		id := "undone-" + hash
		if i := slices.IndexFunc(r.entries, func(e entry) bool { return e.ID == id }); i >= 0 && r.entries[i].Result != open {
			if r.entries[i].Result != notUndone {
				had++
			}
			continue
		}
		c, err := t.commitOf(hash)
		if err != nil {
			return err
		}
		if c == nil {
			continue
		}
		lines, err := t.undo(c)
		var by *test
		if err == nil {
			by, err = r.killer(t, c, r.entry(id).Test, reached, lines)
			if err := t.redo(); err != nil {
				return err
			}
		}
		if errors.Is(err, errNotUndone) {
			e := r.entry(id)
			e.Commit, e.Subject, e.Result, e.Note = c.Hash, c.Subject, notUndone, reason(err)
			fmt.Fprintln(r.log, e)
			if err := r.save(); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		e := r.entry(id)
		e.Commit, e.Subject, e.Result, e.Program, e.Test = c.Hash, c.Subject, survives, "", ""
		if reached.partial {
			e.Result = open
		}
		if by != nil {
			e.Result, e.Program, e.Test = killed, by.Program, by.Name
		}
		fmt.Fprintln(r.log, e)
		if err := r.save(); err != nil {
			return err
		}
		had++
	}
	if had < r.commits {
		return fmt.Errorf("only %d commits can be undone", had)
	}
	return nil
}

// reason returns why a commit cannot be undone, on one line.
func reason(err error) string {
	text, _, _ := strings.Cut(strings.TrimPrefix(err.Error(), errNotUndone.Error()+": "), "\n")
	return text
}

// killer searches a test that fails while a commit is undone. It runs the tests that the
// commit has changed and the test that an earlier search has found first, then all other
// tests that reach the changed lines.
func (r *recorder) killer(t *tree, c *commit, hint string, reached *reach, lines map[string][]lineRange) (*test, error) {
	s, err := newSearcher(t, reached, r.log)
	if err != nil {
		return nil, err
	}
	s.clean, s.until = r.clean, r.until
	tests := reached.reaching(lines)
	fmt.Fprintf(r.log, "  %s: %d tests reach it; it has changed %v\n", c.Hash, len(tests), c.touched)
	var first, others []test
	if reached.partial {
		for _, name := range c.touched {
			programs, err := programsWith(s, name)
			if err != nil {
				return nil, err
			}
			for _, p := range programs {
				first = append(first, test{p, name})
			}
		}
	}
	for _, t := range tests {
		switch {
		case slices.Contains(first, t):
		case slices.Contains(c.touched, t.Name) || t.Name == hint:
			first = append(first, t)
		default:
			others = append(others, t)
		}
	}
	for _, b := range s.batches(first) {
		if err := s.programs[b.program].build(t); err != nil {
			return nil, fmt.Errorf("%w: the tests of today need it", errNotUndone)
		}
	}
	return s.single(append(s.batches(first), s.batches(others)...), nil)
}
