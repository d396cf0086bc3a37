package keys_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"sync/atomic"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/keysource"
)

// partsStep is a step of a program of FuzzParts: a process reserves n integers. It is one
// that runs, or begins anew, as after a kill -9: it knows nothing then of what its row held.
type partsStep struct {
	sequence int // of 3
	process  int // of 2
	again    bool
	n        int64
}

// partsProgram reads a program: where the second and the third sequence begin, the part
// that the first one leaves out, and the steps.
func partsProgram(data []byte) (startAt [3]int64, skip store.Range, steps []partsStep) {
	if len(data) < 4 {
		return startAt, skip, nil
	}
	startAt[1], startAt[2] = 2+int64(data[0]), 2+int64(data[1])*2
	if first := int64(data[2]); first > 0 {
		skip = store.Range{First: first, Last: first + int64(data[3]%64)}
	}
	for _, b := range data[4:min(len(data), 64)] {
		steps = append(steps, partsStep{sequence: int(b%4) % 3, process: int(b >> 2 % 2), again: b>>3%4 == 0, n: 1 + int64(b>>5)*5})
	}
	return startAt, skip, steps
}

// FuzzParts: three sequences of one column, of which two have start_at and one leaves a part
// out, are reserved from by processes that begin anew at any time. No integer is given
// twice, none below the start_at of its sequence, and none of the part that is left out. A
// sequence whose numbers another one has passed is refused, and nothing else goes wrong.
func FuzzParts(f *testing.F) {
	for _, program := range []string{
		"\x3c\x40\x00\x00\x00\x01\x00\x01\x08\x09", "\x3c\x20\x0a\x20\xe0\xe0\x01\xe1\x02\xe0\x09\x0a\x08",
		"\x05\x50\x03\x05\x20\x21\x22\x24\x25\x26\x00\x01\x02\x48\x49\x4a", "\x08\x04\x00\x00\x01\x02\x00\x02\x01\xe1\xe2\x02",
	} {
		f.Add([]byte(program))
	}
	connector, err := harness.NewConnector("sqlite", "file:"+filepath.Join(f.TempDir(), "t.db")+"?_pragma=synchronous(OFF)")
	if err != nil {
		f.Fatal(err)
	}
	pool, raw := store.Pool(dialect.SQLite(), connector), sql.OpenDB(connector)
	f.Cleanup(func() { pool.Close(); raw.Close() })
	st := store.New(dialect.SQLite(), pool)
	var programs atomic.Int64
	f.Fuzz(func(t *testing.T, data []byte) {
		startAt, skip, steps := partsProgram(data)
		table := fmt.Sprint("t", programs.Add(1)) // each program has one of its own
		harness.Exec(t, raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY)")
		processes := map[string]*reserver.Reserver{}
		owner := map[int64]int{}
		for i, step := range steps {
			name := fmt.Sprint(step.sequence, step.process)
			if processes[name] == nil || step.again {
				q := sequence.Sequence{Name: fmt.Sprint(table, ".", step.sequence), Columns: []store.Column{{Schema: "main", Table: table, Name: "id"}},
					Bounds: sequence.Bounds{StartAt: startAt[step.sequence]}, EnsureSchema: true, Create: true}
				if step.sequence == 0 {
					q.Bounds.Skip = skip
				}
				processes[name] = reserver.New(st, q)
			}
			got, err := processes[name].Reserve(t.Context(), step.n, 0)
			if err != nil {
				if !errors.Is(err, store.ErrStartAt) && !errors.Is(err, store.ErrBegun) && !errors.Is(err, store.ErrTaken) && !errors.Is(err, keysource.ErrExhausted) {
					t.Fatalf("step %d, %+v: %v", i, step, err)
				}
				continue
			}
			n := step.n
			if got.N > 0 {
				n = got.N
			}
			for id := got.First; id < got.First+n; id++ {
				if other, found := owner[id]; found {
					t.Fatalf("step %d, %+v: %d was given to the sequence %d already", i, step, id, other)
				}
				owner[id] = step.sequence
				if id < max(1, startAt[step.sequence]) || step.sequence == 0 && skip.Has(id) {
					t.Fatalf("step %d, %+v: %d is not of the sequence's part, which begins at %d and leaves %v out", i, step, id, startAt[step.sequence], skip)
				}
			}
			if got.First > 0 && i%3 == 0 { // others store their keys later, or never
				harness.Exec(t, raw, fmt.Sprintf("INSERT INTO %s VALUES (%d)", table, got.First))
			}
		}
	})
}
