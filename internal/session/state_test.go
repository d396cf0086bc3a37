package session

import (
	"context"
	"database/sql/driver"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

// TestCatalogChanges: the changes of a transaction of PostgreSQL besides rows, by its
// texts; a transaction that has changed tables reports its end once.
func TestCatalogChanges(t *testing.T) {
	for query, changes := range map[string]bool{
		"INSERT INTO t VALUES (1)":                            false,
		"WITH a AS (SELECT 1) SELECT a FROM a":                false,
		"SELECT a FROM b WHERE c = 'into'":                    false,
		"INSERT INTO t SELECT a FROM b":                       false,
		"SET search_path = a":                                 false,
		"SHOW search_path":                                    false,
		"SAVEPOINT a":                                         false,
		"FETCH 1 FROM a":                                      false,
		"EXPLAIN SELECT 1":                                    false,
		"EXPLAIN ANALYZE UPDATE t SET a = 1":                  false,
		"CREATE TABLE a (b INT)":                              true,
		"alter table a add b int":                             true,
		"/* a */ DROP TABLE a":                                true,
		"TRUNCATE a":                                          true,
		"DO $$ BEGIN END $$":                                  true,
		"INSERT INTO t VALUES (1); CREATE TABLE a (b INT)":    true,
		"SELECT a INTO b FROM c":                              true,
		"WITH a AS (SELECT 1) SELECT * INTO b FROM a":         true,
		"EXPLAIN ANALYZE CREATE TABLE a AS SELECT 1":          true,
		"EXPLAIN (ANALYZE, COSTS) CREATE TABLE a AS SELECT 1": true,
		"EXPLAIN ANALYZE EXECUTE a":                           true,
	} {
		conn, f := newConn(dialect.PostgreSQL(), drivers.Facts{})
		ends := 0
		conn.Altered.OnEnd = func() { ends++ }
		var tx driver.Tx
		run(t, conn, f, &tx, "BeginTx")
		before := conn.Altered.Times
		run(t, conn, f, &tx, query)
		if conn.Altered.On != changes || (conn.Altered.Times != before) != changes {
			t.Errorf("%q: on %v, want %v", query, conn.Altered.On, changes)
		}
		run(t, conn, f, &tx, "Rollback")
		run(t, conn, f, &tx, "BeginTx")
		if on := conn.Altered.On; on || ends != map[bool]int{true: 1}[changes] {
			t.Errorf("%q: behind the transaction: on %v, Over called %d times", query, on, ends)
		}
	}
}

// TestChangesOutside: a text outside of transactions changes tables for all sessions.
func TestChangesOutside(t *testing.T) {
	conn, f := newConn(dialect.PostgreSQL(), drivers.Facts{})
	var tx driver.Tx
	run(t, conn, f, &tx, "CREATE TABLE a (b INT)")
	if conn.Altered.On {
		t.Error("it is taken to be known on this connection alone")
	}
}

// TestPlaceForgotten: which texts make a connection ask again where its session is.
func TestPlaceForgotten(t *testing.T) {
	pg := dialect.PostgreSQL()
	for _, c := range []struct {
		steps string // by ";"
		asked bool
	}{
		{"SELECT 1; INSERT INTO t VALUES (1)", true},
		{"SET search_path = a", false},
		{"SELECT set_config('search_path', 'a', false)", false},
		{"BeginTx; SELECT 1; Commit", true},
		{"reset", false},
	} {
		conn, f := newConn(pg, drivers.Facts{})
		var tx driver.Tx
		conn.Place = knownPlace{At: conn.server.Places.Of("a"), Asked: true}
		for _, step := range strings.Split(c.steps, "; ") {
			run(t, conn, f, &tx, step)
		}
		if conn.Place.Asked != c.asked {
			t.Errorf("%s: known %v, want %v", c.steps, conn.Place.Asked, c.asked)
		}
	}
}

// TestPlaceTakenBack: a place that was asked for after a SET is forgotten at the end of
// the transaction, which may take the SET back.
func TestPlaceTakenBack(t *testing.T) {
	conn, f := newConn(dialect.PostgreSQL(), drivers.Facts{})
	var tx driver.Tx
	run(t, conn, f, &tx, "BeginTx")
	conn.Place = knownPlace{At: conn.server.Places.Of("a"), Asked: true}
	run(t, conn, f, &tx, "SET LOCAL search_path = b")
	f.answer = func(string) ([]driver.Value, error) { return []driver.Value{"db", "b", "b"}, nil }
	conn.Place.At, conn.Place.Asked = conn.server.Places.Of("b"), true
	run(t, conn, f, &tx, "INSERT INTO t VALUES (1)")
	if !conn.Place.Asked {
		t.Error("an INSERT leaves the place")
	}
	run(t, conn, f, &tx, "Commit")
	if conn.Place.Asked {
		t.Error("the place is taken to be the one of SET LOCAL behind its transaction")
	}
}

// TestPlaceReset: a connection that comes back has the place that its driver gives it.
func TestPlaceReset(t *testing.T) {
	first, now := &Location{Answer: "first"}, &Location{Answer: "now"}
	for _, c := range []struct {
		facts drivers.Facts
		first *Location
		want  *Location // nil: to be asked
	}{
		{drivers.Facts{KeepsSession: true}, first, now},
		{drivers.Facts{ResetsSession: true}, first, first},
		{drivers.Facts{ResetsSession: true}, nil, nil},
		{drivers.Facts{}, first, nil},
	} {
		k := knownPlace{At: now, Asked: true, First: c.first}
		k.resets(&c.facts)
		if k.Asked != (c.want != nil) || k.Asked && k.At != c.want {
			t.Errorf("%+v: known %v, %+v", c.facts, k.Asked, k.At)
		}
	}
}

// TestPlaces: sessions with one answer share a location, and the schemas found there.
func TestPlaces(t *testing.T) {
	var p places
	a := p.Of("a")
	if p.Of("a") != a || p.Of("b") == a {
		t.Error("one answer is one location")
	}
	if a.SchemaOf("t") != "" || !a.Keep("t", "s") || a.SchemaOf("t") != "s" || p.Of("b").SchemaOf("t") != "" {
		t.Error("a schema is kept for its location alone")
	}
}

// TestPrepared: a text that is prepared runs unseen later, so that what it may change
// is never taken to be known again.
func TestPrepared(t *testing.T) {
	pg := dialect.PostgreSQL()
	conn, _ := newConn(pg, drivers.Facts{})
	at := conn.server.Places.Of("a")
	for _, c := range []struct {
		query string
		keeps bool
	}{
		{"INSERT INTO t (a) VALUES ($1)", true},
		{"SET search_path = a", false},
	} {
		columns, settings := knownColumns{}, knownSettings{Asked: true}
		place := knownPlace{At: at, Asked: true}
		columns.Keep("t", []string{"a"})
		text := text{dialect: pg, query: c.query}
		columns.prepares(&text)
		settings.prepares(&text)
		place.prepares(&text)
		if kept := columns.Of("t") != nil; kept != c.keeps || settings.Asked != c.keeps || place.Asked != c.keeps {
			t.Errorf("%q: columns %v, settings %v, place %v, want %v", c.query, kept, settings.Asked, place.Asked, c.keeps)
		}
		if columns.Keep("u", []string{"a"}); (columns.Of("u") != nil) != c.keeps {
			t.Errorf("%q: columns are taken to be known behind it", c.query)
		}
	}
}

// TestTemporaryNames: the names of tables that may be temporary ones.
func TestTemporaryNames(t *testing.T) {
	pg := dialect.PostgreSQL()
	for _, c := range []struct {
		steps []string
		names []string
		every bool
	}{
		{[]string{"CREATE TABLE a (b INT)", "SELECT 1"}, nil, false},
		{[]string{"CREATE TEMPORARY TABLE A (b INT)"}, []string{"a"}, false},
		{[]string{"CREATE TEMP TABLE a (b INT)", "ALTER TABLE a RENAME TO c"}, []string{"a", "c"}, false},
		{[]string{"ALTER TABLE a RENAME TO c"}, nil, false}, // none is temporary
		{[]string{"CREATE TEMP TABLE a (b INT)", "DROP TABLE a"}, []string{"a"}, false},
		{[]string{"SET search_path = pg_temp, public"}, nil, true},
	} {
		conn, f := newConn(pg, drivers.Facts{})
		var tx driver.Tx
		for _, step := range c.steps {
			run(t, conn, f, &tx, step)
		}
		var names []string
		for n := range conn.Temporary.Names {
			names = append(names, n)
		}
		slices.Sort(names)
		if !slices.Equal(names, c.names) || conn.Temporary.Every != c.every {
			t.Errorf("%q: %q, every %v", c.steps, names, conn.Temporary.Every)
		}
	}
}

// TestTemporaryBound: with more names than are kept any may be one.
func TestTemporaryBound(t *testing.T) {
	var n temporaryNames
	d := dialect.PostgreSQL()
	for i := range maxTemporary + 1 {
		n.add(d, "CREATE TEMP TABLE t"+strings.Repeat("x", i%50)+string(rune('a'+i/50))+" (a INT)")
	}
	if !n.Every || len(n.Names) > maxTemporary {
		t.Errorf("every %v, %d names", n.Every, len(n.Names))
	}
}

// TestColumnsForgotten: columns are known until something may have changed a table.
func TestColumnsForgotten(t *testing.T) {
	for query, keeps := range map[string]bool{
		"INSERT INTO t VALUES (1)": true,
		"SELECT a FROM t":          true,
		"ALTER TABLE t ADD b INT":  false,
		"USE other":                false,
		"Rollback":                 false, // DDL may have been undone
		"reset":                    false,
	} {
		conn, f := newConn(dialect.MySQL(), drivers.Facts{})
		var tx driver.Tx
		run(t, conn, f, &tx, "BeginTx")
		conn.Columns.Keep("t", []string{"a"})
		run(t, conn, f, &tx, query)
		if kept := conn.Columns.Of("t") != nil; kept != keeps {
			t.Errorf("%q: known %v, want %v", query, kept, keeps)
		}
	}
}

// TestServerTold: the first connection that asks finds out whether the server is MySQL or
// MariaDB.
func TestServerTold(t *testing.T) {
	for version, want := range map[string]*dialect.Dialect{
		"8.4.3":                    dialect.MySQL(),
		"10.11.19-MariaDB-0+deb12": dialect.MariaDB(),
	} {
		s := NewServer(drivers.Facts{Family: true}, []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()})
		f := &fakeConn{answer: func(string) ([]driver.Value, error) { return []driver.Value{[]byte(version)}, nil }}
		for range 2 {
			c := New(f, s)
			if err := c.AskServer(context.Background()); err != nil {
				t.Fatal(err)
			}
		}
		if s.Dialect() != want || len(f.sent) != 1 {
			t.Errorf("%s: %s, asked %d times", version, s.Dialect().Name, len(f.sent))
		}
	}
}

// TestSkipping: a driver that answers ErrSkip again and again is expected to, but for a
// try now and then, and no longer once it has taken a text.
func TestSkipping(t *testing.T) {
	var s skipping
	for range skipsExpected {
		if s.IsExpected() {
			t.Fatal("expected too early")
		}
		s.saw(driver.ErrSkip)
	}
	expected := 0
	for s.IsExpected() {
		if expected++; expected > 2*skipsUntried {
			t.Fatal("it is never tried again")
		}
	}
	if expected != skipsUntried {
		t.Errorf("expected %d times, want %d", expected, skipsUntried)
	}
	if s.saw(nil); s.IsExpected() {
		t.Error("expected of a driver that has taken a text")
	}
}

// TestPassedAllocations: following a statement that is passed allocates nothing, in a
// transaction neither.
func TestPassedAllocations(t *testing.T) {
	conn, _ := newConn(dialect.PostgreSQL(), drivers.Facts{})
	conn.Columns.Keep("t", []string{"a"})
	conn.Tx = Inside
	for _, query := range []string{"SELECT a FROM t WHERE b = $1", "UPDATE t SET a = 1 WHERE b = $1"} {
		if n := testing.AllocsPerRun(100, func() {
			conn.sends(query)
			conn.NoteRan(effects.TxUnchanged, 0, nil)
		}); n != 0 {
			t.Errorf("%q: %v allocations", query, n)
		}
	}
}
