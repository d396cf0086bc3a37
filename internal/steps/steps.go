// Package steps measures how the cost of a function grows with its input: the blocks of
// code that it runs, and the bytes that it allocates. Neither depends on the load of the
// machine, as time does.
//
// A test whose blocks are counted would measure itself. So a test builds a program with
// [Build], whose main function calls [Answer]. Its source is written by "go tool cover
// -mode=count". The counters of "go build -cover" can only be read while the program runs
// if they are atomic, which takes ten times as long.
package steps

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"strings"
)

// Text is a text with two parts that are repeated a number of times.
type Text struct {
	Head   string
	Unit   string // the first part that is repeated
	Middle string
	Second string // the second part that is repeated, as often as Unit
	Tail   string
}

// Number is a placeholder in a unit: each repetition replaces it by its own number, in
// Digits digits.
const (
	Number = "\x00"
	Digits = 7
)

// Of returns the text with each unit n times.
func (t Text) Of(n int) string {
	b := make([]byte, 0, len(t.Head)+len(t.Middle)+len(t.Tail)+n*unitLength(t.Unit+t.Second))
	repeat := func(unit string) {
		parts := strings.Split(unit, Number)
		for i := range n {
			for k, part := range parts {
				if k > 0 {
					b = fmt.Appendf(b, "%0*d", Digits, i)
				}
				b = append(b, part...)
			}
		}
	}
	b = append(b, t.Head...)
	repeat(t.Unit)
	b = append(b, t.Middle...)
	repeat(t.Second)
	b = append(b, t.Tail...)
	return string(b)
}

// unitLength returns the length of a repetition of a unit.
func unitLength(unit string) int {
	return len(unit) + strings.Count(unit, Number)*(Digits-len(Number))
}

// How many bytes of repeated units the shortest and the longest text have.
const (
	least     = 128 << 10
	greatest  = 1 << 20
	doublings = 3
)

// sizes returns how often the units are repeated in the texts to measure, each time twice
// as often as before. All results are even, since a sign such as a quote may open and close
// something.
func (t Text) sizes() (all []int) {
	unit := unitLength(t.Unit + t.Second)
	for size := least; size <= greatest; size *= 2 {
		all = append(all, (least/unit/2+1)*2*(size/least))
	}
	return all
}

// Cost is the cost of one call of a function.
type Cost struct {
	Steps uint64 // the number of blocks of code that were executed
	Bytes uint64 // allocated
	Most  string // the file and line of the block that ran most often
}

// The factors by which the cost may grow if the input is doubled, and costs that are too
// small to be compared: the runtime may allocate a little at any time.
const (
	stepsLimit = 2.3
	bytesLimit = 2.3
	fewSteps   = 2_000
	littleHeap = 64 << 10
)

// growth returns the name of a cost that grows by more than its limit with each doubling,
// or an empty text if none does. Steps are compared for each doubling, bytes over all
// doublings together: a slice that grows as it is filled has allocated up to five times its
// size, and a slice that was made at once has not.
func growth(costs []Cost) string {
	if len(costs) < 2 {
		return ""
	}
	half, last := costs[len(costs)-2], costs[len(costs)-1]
	if float64(last.Steps) > stepsLimit*float64(half.Steps)+fewSteps {
		return fmt.Sprintf("steps grow from %d to %d, want at most %v times as many; most run %s", half.Steps, last.Steps, stepsLimit, last.Most)
	}
	first, all := costs[0], math.Pow(bytesLimit, doublings)
	if float64(last.Bytes) > all*float64(first.Bytes)+littleHeap {
		return fmt.Sprintf("allocated bytes grow from %d to %d, want at most %.1f times as many; most run %s", first.Bytes, last.Bytes, all, last.Most)
	}
	return ""
}

// Answer answers the questions on standard input, each of which is a JSON value. prepare
// returns the text that a question is about, and the function whose cost is measured.
// Answer returns at the end of the input.
func Answer[Q any](prepare func(Q) (Text, func(text string))) error {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var q Q
		if err := in.Decode(&q); err == io.EOF {
			return nil
		} else if err != nil {
			return err
		}
		text, f := prepare(q)
		var costs []Cost
		for _, n := range text.sizes() {
			whole := text.Of(n)
			costs = append(costs, costOf(func() { f(whole) }))
			// Do not try longer texts: if the cost is quadratic, they would take minutes.
			if growth(costs) != "" {
				break
			}
		}
		if err := out.Encode(costs); err != nil {
			return err
		}
	}
}

// costOf returns what a function costs.
func costOf(f func()) (c Cost) {
	all := files()
	for _, of := range all {
		clear(of.count)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	most := uint32(0)
	for _, of := range all {
		for i, n := range of.count {
			if c.Steps += uint64(n); n > most {
				most, c.Most = n, fmt.Sprintf("%s:%d", of.name, of.position[3*i])
			}
		}
	}
	c.Bytes = after.TotalAlloc - before.TotalAlloc
	return c
}
