package statements_test

import (
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// lastID is what LastInsertId of a Result gave.
type lastID struct {
	id  int64
	err error
}

// warmUp inserts a row, so that the row of the sequence is there before a cell
// stores keys of its own, and asks the raw driver for its LastInsertId.
func (b *keyTable) warmUp(t *testing.T) {
	t.Helper()
	harness.Exec(t, b.db, "INSERT INTO "+b.table+" (name, n) VALUES ('first', 0)")
	res, err := b.Raw.Exec("DELETE FROM " + b.table)
	if err != nil {
		t.Fatal(err)
	}
	if _, b.noLastID = res.LastInsertId(); b.noLastID != nil != b.IsPostgres() {
		t.Fatalf("LastInsertId of the raw driver: error %v", b.noLastID)
	}
}

// keysCounted returns how many keys the mount has counted.
func (b *keyTable) keysCounted() int { return int(b.mount.Stats().Tables[b.table].Keys) }

// next returns the lowest integer that is not reserved, where the store
// reserves as many as are drawn; else 0.
func (c *cell) next() int {
	c.t.Helper()
	if c.key.integer == nil || !c.key.integer.exact {
		return 0
	}
	return harness.Count(c.t, c.Raw, "SELECT next_value FROM keyfill_sequences WHERE name = '"+c.table+".id'")
}

// checkReserved compares how many integers were reserved with how many keys
// were drawn. On SQLite they belong to the transaction, and go back with it.
func (c *cell) checkReserved(reserved, draws int) {
	c.t.Helper()
	if c.path.undone && c.Dialect.OneWriter {
		draws = 0
	}
	if c.key.integer.exact && reserved != draws {
		c.t.Errorf("%d integers were reserved, want %d", reserved, draws)
	}
}

// checkIntegers asks of the keys of each statement that they are consecutive and
// within their bounds, and compares LastInsertId. Whether they are stored is
// checked elsewhere.
func (c *cell) checkIntegers(uses []statement) {
	c.t.Helper()
	recorded := c.rec.Keys(c.table)
	if len(recorded) != c.draws(uses) {
		c.t.Fatalf("%d keys are recorded, want %d", len(recorded), c.draws(uses))
	}
	for use := range uses {
		keys := recorded[:c.draws(uses[use:use+1])]
		recorded = recorded[len(keys):]
		if c.path.rows && c.shape.updates {
			continue // the keys belong to the rows that were there
		}
		first := keys[0].Key.(int64)
		for i, k := range keys {
			want := first + int64(i)
			if c.Dialect.OneWriter && !c.shape.updates && k.Row > 0 && uses[use].rows[k.Row-1].own != nil && k.Key.(int64) > want {
				first = k.Key.(int64) - int64(i) // above the key that the row before has brought
				want = k.Key.(int64)
			}
			if k.Key != want {
				c.t.Fatalf("use %d: key %d is %v, want %d", use, i, k.Key, want)
			}
		}
		if last := keys[len(keys)-1].Key.(int64); first < 1 || c.key.integer.maxBits == 31 && last > 1<<31-1 {
			c.t.Errorf("use %d: keys from %d to %d", use, first, last)
		}
		if !c.path.rows {
			c.checkLastID(use, keys)
		}
	}
}

// checkLastID compares LastInsertId of an Exec with the keys of its statement.
func (c *cell) checkLastID(use int, keys []keyfill.RecordedKey) {
	c.t.Helper()
	got := c.lastIDs[use]
	if c.noLastID != nil {
		if got.err == nil || got.err.Error() != c.noLastID.Error() {
			c.t.Errorf("use %d: LastInsertId has error %v, want the driver's: %v", use, got.err, c.noLastID)
		}
		return
	}
	if want := c.wantLastID(use, keys); got != (lastID{id: want}) {
		c.t.Errorf("use %d: LastInsertId is %d, error %v; want %d", use, got.id, got.err, want)
	}
}

// wantLastID returns the key of the first row, on SQLite of the last one. If none is
// stored it is the key of the one row that the engine of a LAST_INSERT_ID has changed,
// else 0.
func (c *cell) wantLastID(use int, keys []keyfill.RecordedKey) int64 {
	first, last := keys[0].Key.(int64), keys[len(keys)-1].Key.(int64)
	switch {
	case c.shape.updates && c.Dialect.Name == "mariadb" && c.rows == 1:
		_, shown := c.key.own(1000 * use)
		return shown.(int64)
	case c.shape.updates:
		return 0
	case c.Dialect.LastRowID:
		return last
	}
	return first
}
