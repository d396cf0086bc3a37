package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
)

// cell is one test of the matrix: a shape of INSERT with a number of rows on
// a path, into a table with one kind of key, on one engine.
type cell struct {
	*keyTable
	t     *testing.T
	shape shape
	path  path
	rows  int

	ctx      context.Context
	rec      *keyfill.Recorder
	returned []returned
	lastIDs  []lastID // of each Exec
}

// returned is a row of a RETURNING clause.
type returned struct {
	id   any
	name string
}

// keyTable is a table with one kind of key on one engine, for all of its cells.
type keyTable struct {
	*harness.Scratch
	key   keyCase
	table string
	db    *sql.DB
	mount *keyfill.Mount
	rand  harness.Entropy
	turn  int // of cells: see rowsOf

	// noLastID is what LastInsertId of the driver always answers, where it
	// does.
	noLastID error
}

// TestMatrix asks of every cell that the engine stored what Record and RETURNING said,
// that every key was drawn and stored exactly once and in order, and that the other
// columns hold what the caller meant; of integers that a statement's are consecutive, and
// that LastInsertId is the key of the first row, on SQLite of the last one.
func TestMatrix(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.Engines, func(t *testing.T, s *harness.Scratch) {
		for _, k := range keyCases {
			if k.columns[s.Dialect.Name] != "" {
				t.Run(k.name, func(t *testing.T) {
					if s.Memory {
						s = s.Engine.Scratch(t) // closing one database loses its memory
					}
					newKeyTable(t, s, k).run(t)
				})
			}
		}
	})
}

func newKeyTable(t *testing.T, s *harness.Scratch, k keyCase) *keyTable {
	// The drivers cache by text: a name is used for one type of key only.
	b := &keyTable{
		Scratch: s, key: k, table: "customers_" + strings.ReplaceAll(k.name, "-", "_"),
		turn: testturn.One(t, []int{0, 1}),
	}
	harness.Exec(t, s.Raw, fmt.Sprintf(`CREATE TABLE %s (code VARCHAR(40) UNIQUE, name VARCHAR(40) NOT NULL,
		n BIGINT NOT NULL, id %s NOT NULL PRIMARY KEY)`, b.table, k.columns[s.Dialect.Name]))
	rule := k.rule()
	rule.Columns = []string{"code", "name", "n", "id"}
	cfg := harness.FillID(b.table, rule)
	b.db, b.mount = s.OpenWith(t, keyfill.Options{Policy: cfg, Rand: &b.rand})
	if !s.Memory {
		b.db.SetMaxOpenConns(2)
	}
	if k.integer != nil {
		b.warmUp(t)
	}
	return b
}

func (b *keyTable) run(t *testing.T) {
	for _, shape := range shapes {
		if shape.only != "" && shape.only != b.Dialect.Name {
			continue
		}
		for _, path := range paths {
			for _, rows := range b.rowsOf(t, shape, path) {
				t.Run(fmt.Sprintf("%s/%s/%d", shape.name, path.name, rows), func(t *testing.T) {
					c := &cell{keyTable: b, t: t, shape: shape, path: path, rows: rows}
					c.ctx, c.rec = keyfill.Record(context.Background())
					c.run()
				})
			}
		}
	}
}

// rowsOf returns how many rows the statements of a cell have: one, and seven, by which
// each of the six forms of the shape mixed is there and the first one again. What 100
// rows show besides, more keys than a first block has and statements of many arguments,
// is shown of the plainest shape, executed directly and in a transaction; make soak shows
// it of every cell. Where tests go by turns, and under the race detector, which makes a
// cell ten times as slow, cells have one number or the other by turns: what the race
// detector looks for depends on neither.
func (b *keyTable) rowsOf(t *testing.T, s shape, p path) []int {
	if harness.Soaking() || s.name == shapes[0].name && !strings.HasPrefix(p.name, "prepared") {
		return []int{1, 100}
	}
	if b.turn++; harness.RaceEnabled || testturn.Enabled(t) {
		return []int{1 + 6*(b.turn%2)}
	}
	return []int{1, 7}
}

func (c *cell) run() {
	harness.Exec(c.t, c.Raw, "DELETE FROM "+c.table)
	var uses []statement
	for use := range c.path.uses {
		st := c.shape.make(c, use)
		if c.path.rows {
			st.query += " RETURNING id, name"
		}
		uses = append(uses, st)
	}
	if c.shape.updates {
		c.seed(len(uses))
	}
	before, counted, next := c.rand.Bytes.Load(), c.keysCounted(), c.next()
	c.path.run(c, uses)
	draws := c.draws(uses)
	if read := c.rand.Bytes.Load() - before; read != c.key.entropy*int64(draws) {
		c.t.Errorf("%d random bytes were read, want those of %d keys", read, draws)
	}
	if n := c.keysCounted() - counted; n != draws {
		c.t.Errorf("%d keys are counted, want %d", n, draws)
	}
	if c.key.integer != nil {
		if !c.Dialect.OneWriter || !c.brings(uses) { // there the state moves above such keys
			c.checkReserved(c.next()-next, draws+c.spared(uses))
		}
		c.checkIntegers(uses)
	}
	switch {
	case c.path.undone && c.shape.updates:
		c.checkUntouched()
	case c.path.undone:
		if n := harness.Count(c.t, c.Raw, "SELECT COUNT(*) FROM "+c.table); n != 0 {
			c.t.Errorf("%d rows are stored of a transaction that was rolled back", n)
		}
	default:
		c.check(uses)
	}
}

// draws returns how many keys the statements take.
func (c *cell) draws(uses []statement) int {
	n := 0
	for _, st := range uses {
		for _, r := range st.rows {
			if r.own == nil || c.shape.updates {
				n++
			}
		}
	}
	return n
}

// brings reports whether a row of some statements has a key of its own.
func (c *cell) brings(uses []statement) bool {
	return slices.ContainsFunc(uses, func(s statement) bool {
		return slices.ContainsFunc(s.rows, func(r row) bool { return r.own != nil })
	})
}

// spared returns how many keys are drawn and never given, so that counting up from
// LastInsertId of an upsert comes to no key of another statement.
func (c *cell) spared(uses []statement) int {
	if !c.shape.upserts || c.path.rows || c.Dialect.LastRowID || c.noLastID != nil {
		return 0
	}
	n := 0
	for _, st := range uses {
		n += len(st.rows) - 1
	}
	return n
}

// check compares what is stored, recorded and returned with what was meant.
func (c *cell) check(uses []statement) {
	c.t.Helper()
	stored, order := c.stored()
	recorded := c.rec.Keys(c.table)
	if len(recorded) != c.draws(uses) {
		c.t.Fatalf("%d keys are recorded, want %d", len(recorded), c.draws(uses))
	}
	last := -1 // the place of the key before
	for use, st := range uses {
		if !c.key.ordered {
			last = -1
		}
		for i, r := range st.rows {
			id := r.own
			if r.own == nil || c.shape.updates {
				c.checkRecorded(recorded[0], i, r)
				if r.own == nil {
					id = recorded[0].Key
				}
				recorded = recorded[1:]
			}
			got, ok := stored[id]
			if !ok || got.name != r.name || got.n != r.n {
				c.t.Fatalf("use %d row %d: key %v has %+v, want %+v", use, i, id, got, r)
			}
			delete(stored, id)
			if c.path.rows {
				if len(c.returned) == 0 || c.returned[0] != (returned{id, r.name}) {
					c.t.Fatalf("use %d row %d: RETURNING gave %v, want %v of %q", use, i, c.returned, id, r.name)
				}
				c.returned = c.returned[1:]
			}
			if r.own == nil {
				if order[id] <= last {
					c.t.Fatalf("use %d row %d: its key is not behind the one before", use, i)
				}
				last = order[id]
			}
		}
	}
	if len(stored) != 0 || len(c.returned) != 0 {
		c.t.Errorf("%d rows too many are stored and %d returned", len(stored), len(c.returned))
	}
}

// checkRecorded checks the key that was drawn for row i of a statement.
func (c *cell) checkRecorded(k keyfill.RecordedKey, i int, r row) {
	c.t.Helper()
	if k.Table != c.table || k.Column != "id" || k.Row != i {
		c.t.Errorf("row %d: the key is recorded as of %q.%q row %d", i, k.Table, k.Column, k.Row)
	}
	var ok bool
	switch {
	case c.path.rows:
		ok = k.Outcome == keyfill.Stored && (r.own == nil || k.Key == r.own)
	case c.shape.updates:
		ok = k.Outcome == keyfill.NotStored
	default:
		ok = k.Outcome == keyfill.Stored
	}
	if !ok {
		c.t.Errorf("row %d: key %v is recorded as %v", i, k.Key, k.Outcome)
	}
}

// stored returns the rows in the table by key, and the place of each key in the
// engine's own order.
func (c *cell) stored() (rows map[any]row, order map[any]int) {
	c.t.Helper()
	found, err := c.Raw.Query("SELECT id, name, n FROM " + c.table + " ORDER BY id")
	if err != nil {
		c.t.Fatal(err)
	}
	defer found.Close()
	rows, order = map[any]row{}, map[any]int{}
	for found.Next() {
		var (
			id any
			r  row
		)
		if err := found.Scan(&id, &r.name, &r.n); err != nil {
			c.t.Fatal(err)
		}
		id = c.key.key(c.t, id)
		if _, twice := rows[id]; twice {
			c.t.Fatalf("key %v is stored twice", id)
		}
		order[id] = len(rows)
		rows[id] = r
	}
	if err := found.Err(); err != nil {
		c.t.Fatal(err)
	}
	return rows, order
}

// checkUntouched checks that an upsert that was undone changed no row.
func (c *cell) checkUntouched() {
	c.t.Helper()
	rows, _ := c.stored()
	if len(rows) != c.path.uses*c.rows {
		c.t.Errorf("%d rows are stored, want %d", len(rows), c.path.uses*c.rows)
	}
	for id, r := range rows {
		if r.n != -1 {
			c.t.Errorf("the row of key %v has n = %d", id, r.n)
		}
	}
}
