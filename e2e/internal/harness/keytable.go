package harness

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/sequence"
)

// StateOf describes the table that holds the state of a test's sequence, and how tests read
// it.
type StateOf struct {
	Name   string
	Create []string           // the statements that create the table; nil for keyfill_sequences, which exists already
	Table  *sequence.KeyTable // the table as a sequence describes it; nil for keyfill_sequences
	Own    map[string]string  // the statement that creates the table's procedure, by dialect
	Value  string             // the query that returns the stored number
}

// KeyedState returns a table with a row for each sequence, as in the article on sequential
// keys: KEYS (tableName, serial). Its name needs quotes.
func KeyedState(d *dialect.Dialect, integer string, last bool) StateOf {
	q := d.QuoteIdent
	t := &sequence.KeyTable{Name: q("KEYS"), Key: q("tableName"), Row: "orders", Value: q("serial"), Last: last}
	return StateOf{
		Name: "keyed",
		Create: []string{
			fmt.Sprintf("CREATE TABLE %s (%s VARCHAR(40) NOT NULL PRIMARY KEY, %s %s NOT NULL, ver %s DEFAULT 0 NOT NULL)", t.Name, t.Key, t.Value, integer, integer),
			fmt.Sprintf("INSERT INTO %s VALUES ('orders', %d, 0)", t.Name, 1-OffsetOf(last)),
			fmt.Sprintf("INSERT INTO %s VALUES ('parts', 77, 0)", t.Name),
		},
		Table: t,
		Own: map[string]string{
			"postgres": fmt.Sprintf(`CREATE FUNCTION next_key(wanted text, n integer) RETURNS integer LANGUAGE sql AS
				$$ UPDATE %s SET %s = %[2]s + n WHERE %[3]s = wanted RETURNING (%[2]s - n + %[4]d)::integer $$`, t.Name, t.Value, t.Key, OffsetOf(last)),
			"mariadb": fmt.Sprintf(`CREATE PROCEDURE next_key(wanted VARCHAR(40), n INT) BEGIN
				UPDATE %s SET %s = %[2]s + n WHERE %[3]s = wanted;
				SELECT %[2]s - n + %[4]d FROM %[1]s WHERE %[3]s = wanted; END`, t.Name, t.Value, t.Key, OffsetOf(last)),
		},
		Value: fmt.Sprintf("SELECT %s FROM %s WHERE %s = 'orders'", t.Value, t.Name, t.Key),
	}
}

// OffsetOf returns the distance between the value that a row holds and the next key: 1 if
// the row holds the last key.
func OffsetOf(last bool) int {
	if last {
		return 1
	}
	return 0
}

// WaysToReserve names the ways to reserve numbers in a table; the tests use each of them.
var WaysToReserve = []string{"pessimistic", "pessimistic-version", "optimistic", "optimistic-version", "procedure"}

// Ways returns the members of WaysToReserve that exist for the state (the stored counter):
// a table of keyfill's own has no version, and SQLite has no procedures.
func (st StateOf) Ways(s *Scratch) []string {
	return slices.DeleteFunc(slices.Clone(WaysToReserve), func(way string) bool {
		return st.Table == nil && strings.HasSuffix(way, "-version") || s.Server == nil && way == "procedure"
	})
}

// Through creates what a way to reserve needs, and returns the sequence of the state (a
// stored counter) that reserves in that way.
func (st StateOf) Through(t *testing.T, s *Scratch, way string) *sequence.Sequence {
	t.Helper()
	q := Orders
	method, version := strings.CutSuffix(way, "-version")
	Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(20))")
	for _, statement := range st.Create {
		Exec(t, s.Raw, statement)
	}
	if st.Table == nil {
		q.EnsureSchema = true
	} else {
		table := *st.Table
		if version {
			table.Version = "ver"
		}
		q.Table = &table
	}
	switch {
	case method == "optimistic":
		q.Lock = sequence.LockOptimistic
	case method == "procedure" && st.Table == nil:
		q.Procedure = store.ReserveProcedure
	case method == "procedure":
		Exec(t, s.Raw, st.Own[s.Dialect.Name])
		q.Procedure = "next_key"
	}
	return &q
}

// Emptied drops the tables and procedures that the tests of key tables (existing tables of
// applications that hold the numbers) have made in a database, and returns the database
// with new connections. A new database for each test would take a minute in all.
func Emptied(t *testing.T, s *Scratch) *Scratch {
	t.Helper()
	again := *s
	again.Raw = sql.OpenDB(s.Connector)
	t.Cleanup(func() { again.Raw.Close() })
	q := s.Dialect.QuoteIdent
	for _, table := range []string{"orders", "orders_seq", q("KEYS"), "keyfill_sequences", "keyfill_workers", "keyfill_series"} {
		Exec(t, again.Raw, "DROP TABLE IF EXISTS "+table)
	}
	for _, name := range []string{"next_key", store.ReserveProcedure} {
		switch {
		case s.IsPostgres():
			Exec(t, again.Raw, "DROP ROUTINE IF EXISTS "+name)
		case s.Server != nil:
			Exec(t, again.Raw, "DROP PROCEDURE IF EXISTS "+name)
		}
	}
	return &again
}
