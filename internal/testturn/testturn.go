// Package testturn lets tests go by turns: a test that knows several engines, drivers,
// sources or faults takes some of them in one run, and the others in other runs.
//
// What most tests show is the same for each engine and driver, and each further engine or
// driver costs as much time as the first. "make test" goes by turns, so that a contributor
// waits for minutes only. "make everything", "make test WHOLE=1" and a plain "go test" run
// every combination.
//
// # How a turn chooses
//
// All choices of a test are the digits of one number in a mixed radix: the turn plus a hash
// of the test's name. The first choice among n is the remainder of the division by n, the
// next choice is made from the quotient, and so on; a subtest goes on where its parent
// stopped. So a test reaches each combination of its choices in as many successive turns as
// there are combinations. If two choices both took the remainder of the same number, some
// combinations would never occur: of two dialects and two drivers, half of the pairs.
//
// KEYFILL_TEST_CHOICES names a folder to which each program writes the choices that its
// tests make. The program in reach replays them and fails if a combination is out of
// reach.
package testturn

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Environment variables: the number of the turn; the names of tests that take all of their
// choices nevertheless, separated by spaces; and the paths of changed files, a line each.
const (
	turnVariable    = "KEYFILL_TEST_TURN"
	wholeVariable   = "KEYFILL_TEST_WHOLE"
	changedVariable = "KEYFILL_TEST_CHANGED"
)

// Enabled reports whether the test goes by turns.
func Enabled(t testing.TB) bool {
	if os.Getenv(turnVariable) == "" {
		return false
	}
	name, _, _ := strings.Cut(t.Name(), "/")
	return !slices.Contains(strings.Fields(os.Getenv(wholeVariable)), name)
}

// Share returns a number of rows, seeds or tenants: it returns whole, or few if the test
// goes by turns.
func Share[N any](t testing.TB, whole, few N) N {
	if Enabled(t) {
		return few
	}
	return whole
}

// Of reports whether the element at an index has its turn: in one turn, one of every each
// successive elements has it. All calls of a test with the same value of each make the same
// choice. If tests do not go by turns, each element has its turn.
func Of(t testing.TB, place, each int) bool {
	first := progressOf(t).shared(each)
	return !Enabled(t) || (place+first)%each == 0
}

// Some returns the elements that have their turn: one of every each successive elements. If
// tests do not go by turns, it returns all elements.
func Some[T any](t testing.TB, all []T, each int) (some []T) {
	_, first := progressOf(t).read(Choice{Size: each})
	for place, one := range all {
		if !Enabled(t) || (place+first)%each == 0 {
			some = append(some, one)
		}
	}
	return some
}

// One returns the element whose turn it is. If tests do not go by turns, it also returns
// just one element, as in turn 0.
func One[T any](t testing.TB, all []T) T {
	_, place := progressOf(t).read(Choice{Size: len(all)})
	return all[place]
}

// Nested returns the place of the group whose turn it is, and a place in that group. If
// tests do not go by turns, it chooses as in turn 0. The elements are the names of the
// subtests that the test runs for them, so that a replay knows which subtests a choice
// leaves out.
func Nested(t testing.TB, groups [][]string) (group, place int) {
	return progressOf(t).read(Choice{Groups: groups})
}

// turn returns the number of the turn, 0 without turns.
func turn() uint64 {
	text := os.Getenv(turnVariable)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 62)
	if err != nil {
		panic(fmt.Sprintf("testturn: %s=%q is not a number: set it to 1, 2, 3, …", turnVariable, text))
	}
	return n
}

// progress holds how far a test has read the number from which its choices follow.
type progress struct {
	name string

	mu     sync.Mutex
	cursor Cursor
	made   int         // the number of choices that were made
	places map[int]int // the choices made by the function Of, by the value of each
}

// choosing holds the progress of the tests that run. It is indexed by the tests' names,
// because a subtest has to find the choices of its parent, and a testing.TB knows only its
// own name.
var choosing sync.Map // the values are *progress, indexed by the test's name

// progressOf returns the progress of a test. A test that has none begins at the present
// position of its nearest parent.
func progressOf(t testing.TB) *progress {
	name := t.Name()
	if p, ok := choosing.Load(name); ok {
		return p.(*progress)
	}
	p := &progress{name: name, cursor: Start(turn(), name), places: map[int]int{}}
	begun := Record{Test: name}
	if parent := parentOf(name); parent != nil {
		var at Cursor
		at, begun.After = parent.at()
		begun.Parent, p.cursor = parent.name, at.Child(name)
	}
	if other, loaded := choosing.LoadOrStore(name, p); loaded {
		return other.(*progress)
	}
	write(begun)
	t.Cleanup(func() { choosing.Delete(name) })
	return p
}

// parentOf returns the progress of the nearest parent that has made a choice, or nil.
func parentOf(name string) *progress {
	for {
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return nil
		}
		name = name[:i]
		if p, ok := choosing.Load(name); ok {
			return p.(*progress)
		}
	}
}

func (p *progress) at() (c Cursor, made int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cursor, p.made
}

func (p *progress) read(c Choice) (group, place int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.readLocked(c)
}

// shared returns a choice that is the same for all calls with the same value of each.
func (p *progress) shared(each int) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.places[each]; !ok {
		_, p.places[each] = p.readLocked(Choice{Size: each})
	}
	return p.places[each]
}

func (p *progress) readLocked(c Choice) (group, place int) {
	p.made++
	write(Record{Test: p.name, Choice: c})
	return p.cursor.Read(c)
}

// WhenChanged skips a test that goes by turns, unless a file on which it depends has
// changed: the test builds programs or reads documents, which costs much and finds little
// while these do not change. A pattern is the path of a file from the folder of go.work,
// the path of a folder with a slash at its end, or "*.go" for all files with this ending.
// KEYFILL_TEST_CHANGED has the paths of the changed files, a line each.
func WhenChanged(t testing.TB, patterns ...string) {
	t.Helper()
	if !Enabled(t) {
		return
	}
	for file := range strings.Lines(os.Getenv(changedVariable)) {
		file = strings.TrimSpace(file)
		for _, pattern := range patterns {
			ending, ok := strings.CutPrefix(pattern, "*")
			if file == pattern || strings.HasSuffix(pattern, "/") && strings.HasPrefix(file, pattern) ||
				ok && strings.HasSuffix(file, ending) {
				return
			}
		}
	}
	t.Skip("none of its files has changed: make everything runs it")
}

// OnlyWhole skips a test if tests go by turns, also if its file has changed: the test takes
// minutes of a processor where the caches of Go are empty.
func OnlyWhole(t testing.TB) {
	t.Helper()
	if os.Getenv(turnVariable) != "" {
		t.Skip("it takes minutes: make everything runs it")
	}
}
