package approaches

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/measure"
)

func TestTable(t *testing.T) {
	table := &Table{Heading: "An engine 1.0, durable", Connections: []int{1, 4}}
	for _, m := range measure.Methods() {
		switch m.Name {
		case measure.Joined:
			table.Add(m, []Result{{Rate: 1000}, {Rate: 1100, Ends: Tally{Deadlock: 3, Serialization: 1}, Refused: 2}})
		case measure.Identity:
			table.Add(m, []Result{{Rate: 2000}, {Rate: 5000}})
		case measure.Recycled:
			table.Add(m, []Result{{Rate: 900}, {Rate: 3000}})
		}
	}
	var b strings.Builder
	if err := table.Print(&b); err != nil {
		t.Fatal(err)
	}
	const want = `
An engine 1.0, durable
======================

rows a second (times those of one connection)
                         1             4
next-key table, joined   1000 (1.00)   1100 (1.10)
identity                 2000 (1.00)   5000 (2.50)
recycled series          900 (1.00)    3000 (3.33)

ended by the engine: deadlocks/lock timeouts/serialization failures/duplicate keys (of these the caller saw)
                         1             4
next-key table, joined   0/0/0/0 (0)   3/0/1/0 (2)
none: identity; recycled series

where the lines cross: with how many connections a method is ahead of
                  next-key table, joined   identity
recycled series   from 1.1                 behind
`
	if b.String() != want {
		t.Errorf("Print gives\n%s\nwant\n%s", b.String(), want)
	}
}
