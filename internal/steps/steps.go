// Package steps measures how the cost of a function grows with its input: the blocks of
// code that it runs, and the bytes that it allocates. Neither depends on the load of the
// machine, as time does.
//
// Only a program built with -cover -covermode=atomic counts its blocks, and a test is none
// whose counters can be read while it runs. So a test builds a program with [Build], whose
// main function calls [Answer].
package steps

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/coverage"
	"strings"
)

// Text is a text that has a part for as many times as it is asked to.
type Text struct {
	Head   string
	Unit   string // repeated
	Middle string
	Second string // repeated as often
	Tail   string
}

// Number stands for the number of a repetition in a unit: seven digits.
const Number = "\x00"

// Of returns the text with each unit n times.
func (t Text) Of(n int) string {
	var b strings.Builder
	repeat := func(unit string) {
		plain := !strings.Contains(unit, Number)
		for i := range n {
			if plain {
				b.WriteString(unit)
			} else {
				b.WriteString(strings.ReplaceAll(unit, Number, fmt.Sprintf("%07d", i)))
			}
		}
	}
	b.WriteString(t.Head)
	repeat(t.Unit)
	b.WriteString(t.Middle)
	repeat(t.Second)
	b.WriteString(t.Tail)
	return b.String()
}

// The least and greatest text of a law has so many bytes of units.
const (
	least    = 128 << 10
	greatest = 1 << 20
)

// sizes returns how many units the texts of a law have, each twice as many as the one
// before it.
func (t Text) sizes() (all []int) {
	unit := len(strings.ReplaceAll(t.Unit+t.Second, Number, "0000000"))
	for size := least; size <= greatest; size *= 2 {
		all = append(all, (least/unit+1)*(size/least))
	}
	return all
}

// Cost is what a function has done.
type Cost struct {
	Steps uint64 // blocks of code
	Bytes uint64 // allocated
}

// By how much the cost may grow with an input that is doubled, and costs that are too small
// for a ratio: the runtime allocates a little at any time.
const (
	stepsLimit = 2.3
	bytesLimit = 2.6
	fewSteps   = 2_000
	littleHeap = 64 << 10
)

// growth returns what grows by more than its limit for each doubling, empty for nothing.
// Steps are compared for each doubling, bytes for all of them together and less strictly:
// a slice that grows as it is filled has allocated up to five times its size, and a slice
// that was made at once has not.
func growth(costs []Cost) string {
	if len(costs) < 2 {
		return ""
	}
	half, last := costs[len(costs)-2], costs[len(costs)-1]
	if float64(last.Steps) > stepsLimit*float64(half.Steps)+fewSteps {
		return fmt.Sprintf("steps grow from %d to %d, want at most %v times as many", half.Steps, last.Steps, stepsLimit)
	}
	first, all := costs[0], math.Pow(bytesLimit, float64(len(costs)-1))
	if len(costs) > 3 && float64(last.Bytes) > all*float64(first.Bytes)+littleHeap {
		return fmt.Sprintf("allocated bytes grow from %d to %d, want at most %.1f times as many", first.Bytes, last.Bytes, all)
	}
	return ""
}

// Answer answers the questions on standard input, a JSON value each: prepare returns the
// text that a question is about, and the function of it whose cost is measured. It returns
// at the end of the input.
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
			c, err := costOf(func() { f(whole) })
			if err != nil {
				return err
			}
			costs = append(costs, c)
			// The square of a long text takes minutes.
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
func costOf(f func()) (c Cost, err error) {
	if err := coverage.ClearCounters(); err != nil {
		return c, err
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	var b bytes.Buffer
	if err := coverage.WriteCounters(&b); err != nil {
		return c, err
	}
	return Cost{sum(b.Bytes()), after.TotalAlloc - before.TotalAlloc}, nil
}

// sum adds up the counters of a file as the coverage runtime writes it: a header of 32
// bytes, one of 16 with the sizes of a table of strings and a table of arguments, these
// two, and from the next multiple of 4 on, for each function that has run, how many
// counters it has, the numbers of its package and of itself, and its counters. All of
// these are ULEB128. See internal/coverage/defs.go of Go 1.26.
func sum(file []byte) (steps uint64) {
	functions := binary.LittleEndian.Uint64(file[32:])
	at := 48 + int(binary.LittleEndian.Uint32(file[40:])) + int(binary.LittleEndian.Uint32(file[44:]))
	at = (at + 3) &^ 3
	next := func() uint64 {
		n, size := binary.Uvarint(file[at:])
		at += size
		return n
	}
	for range functions {
		counters := next()
		next()
		next()
		for range counters {
			steps += next()
		}
	}
	return steps
}
