package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

var update = flag.Bool("update", false, "rewrite the expected texts in testdata")

// engineAnswers is a fake that behaves as an empty database of an engine does,
// as far as the session of TestStatements goes.
func engineAnswers(d *dialect.Dialect) func(query string) reply {
	made := map[string]bool{}
	row := func(values ...driver.Value) reply { return reply{rows: [][]driver.Value{values}} }
	return func(query string) reply {
		has := func(parts ...string) bool {
			for _, part := range parts {
				if !strings.Contains(query, part) {
					return false
				}
			}
			return true
		}
		switch {
		case has("CREATE TABLE"):
			for _, table := range []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"} {
				made["FROM "+table] = made["FROM "+table] || has("CREATE TABLE IF NOT EXISTS "+table) || has("CREATE TABLE "+table)
			}
			return reply{}
		case has("SET autocommit"):
			return reply{}
		case has("k.greatest"):
			switch {
			case !made["FROM keyfill_sequences"]:
				return reply{err: errRefused}
			case !made["sequence"]:
				return row([]byte("41"), int64(0), nil, nil, "server", nil, nil, nil, nil)
			}
			return row([]byte("41"), int64(0), int64(42), "made", "server", "sales.orders", "id", "", nil)
		case has("keyfill_series o WHERE 1 = 0"):
			if !made["FROM keyfill_series"] {
				return reply{err: errRefused}
			}
			return reply{}
		case has("WHERE 1 = 0"):
			if !made[query[strings.Index(query, "FROM"):strings.Index(query, " WHERE")]] {
				return reply{err: errRefused}
			}
			return reply{}
		case has("MIN(name)"):
			return row(nil)
		case has("MAX("):
			return row([]byte("41"))
		case has("INTO keyfill_sequences"):
			made["sequence"] = true
			return reply{affected: 1}
		case has("INTO keyfill_workers"):
			made["worker"] = true
			return reply{affected: 1}
		case has("parameters FROM keyfill_sequences"):
			if !made["sequence"] {
				return reply{}
			}
			return row(int64(42), "made", "server", "sales.orders", "id", "")
		case has("UPDATE keyfill_sequences", "BETWEEN"):
			// Each way to answer; only the engine's own is asked for.
			return reply{rows: [][]driver.Value{{int64(52), "made", "server"}}, affected: 1, id: 52,
				out: []any{int64(52), "made", "server"}}
		case has("next_value, incarnation"):
			return row(int64(42), "made", "server")
		case has("UPDATE keyfill_sequences"):
			return reply{affected: 1}
		case has("UPDATE keyfill_workers"):
			if !made["worker"] {
				return reply{}
			}
			return reply{rows: [][]driver.Value{{int64(1000)}}, affected: 1, out: []any{int64(1000)}}
		case has("reserved_until FROM"):
			if !made["worker"] {
				return reply{}
			}
			return row(int64(1000))
		case strings.HasPrefix(query, "SELECT"), query == "COMMIT":
			return row("server")
		}
		return reply{err: errors.New("not expected: " + query)}
	}
}

// TestStatements compares what is sent to each engine, in a session that uses
// every statement, with testdata/<dialect>.txtar. The comment of an archive
// says which manual allows the forms. MariaDB, PostgreSQL and SQLite run the
// same statements in e2e.
func TestStatements(t *testing.T) {
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			f := &fake{answer: engineAnswers(d)}
			db := store.Pool(d, connector{f, func(f *fake) driver.Conn { return fullConn{bareConn{f}} }})
			defer db.Close()
			got := session(t, f, store.New(d, db))
			compare(t, filepath.Join("testdata", d.Name+".txtar"), got)
		})
	}
}

// session uses every statement, and returns what is sent by each call.
func session(t *testing.T, f *fake, st *store.Store) []txtar.File {
	t.Helper()
	ctx := context.Background()
	q := sequence.Sequence{
		Name:     "sales.orders.id",
		Columns:  []store.Column{{Schema: "sales", Table: "orders", Name: "id"}},
		OnBehind: keysource.RemedyAdvance,
	}
	w := worker.Worker{Name: "flakes", Number: 7, Owner: "host"}
	var got []txtar.File
	step := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got = append(got, txtar.File{Name: name, Data: []byte(f.lines() + "\n")})
	}
	step("EnsureSchema", schema.Of(st).Ensure(ctx))
	_, err := reserver.Open(ctx, st, q)
	var missing *store.Error
	if !errors.As(err, &missing) || missing.Err != store.ErrNoRow {
		t.Fatalf("Open of a missing row: %v", err)
	}
	step("Open of a missing row", nil)
	got = append(got, txtar.File{Name: "what its error says to run", Data: []byte(missing.SQL + "\n")})
	q.Create = true
	_, err = reserver.Open(ctx, st, q)
	step("Open", err)
	r, err := sequence.Reserve(ctx, st, q, 10, 42)
	step("Reserve", err)
	if r != (keysource.Reservation{First: 42, Server: "made@server"}) {
		t.Errorf("Reserve: %+v", r)
	}
	step("Advance", sequence.Advance(ctx, st, q, 100))
	before, err := worker.Mark(ctx, st, w, 2000)
	step("Mark", err)
	if before != 1000 {
		t.Errorf("Mark: %d", before)
	}
	unbound := f.answer
	f.answer = bindingAnswers(unbound, 1)
	q.Shared = true
	_, err = reserver.Open(ctx, st, q)
	step("Open of a shared row", err)
	f.answer = bindingAnswers(unbound, 0)
	w.Columns = q.Columns
	m := worker.New(st, w)
	_, err = m.Mark(ctx, 2000)
	step("Mark of a worker that is bound", err)
	_, err = m.Mark(ctx, 3000)
	step("the next Mark", err)
	return got
}

// bindingAnswers makes a fake lack the row that binds a state until that is made, and have
// a candidate until that is bound; before it the given number of rows is read.
func bindingAnswers(usual func(string) reply, before int) func(string) reply {
	made, next := false, int64(0)
	return func(query string) reply {
		switch {
		case strings.Contains(query, "INTO keyfill_sequences"):
			made = true
		case strings.Contains(query, "SET next_value = 1\n"):
			next = 1
		case !strings.Contains(query, "parameters FROM keyfill_sequences"):
		case before > 0:
			before--
		case !made:
			return reply{}
		default:
			return reply{rows: [][]driver.Value{{next, "made", "server", "sales.orders", "id", "binding"}}}
		}
		return usual(query)
	}
}

// compare compares sections with those of an archive, in order, or writes them
// into it.
func compare(t *testing.T, file string, got []txtar.File) {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		archive.Files = got
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if len(got) != len(archive.Files) {
		t.Fatalf("%s has %d sections, want %d", file, len(archive.Files), len(got))
	}
	for i, want := range archive.Files {
		if got[i].Name != want.Name || string(got[i].Data) != string(want.Data) {
			t.Errorf("%s is\n%s\nwant %s to be\n%s", got[i].Name, got[i].Data, want.Name, want.Data)
		}
	}
}

// TestDDL: the statements of DDL are those that EnsureSchema sends.
func TestDDL(t *testing.T) {
	for _, d := range dialect.All() {
		statements := store.DDL(d)
		if len(statements) != 3 {
			t.Errorf("%s: %d statements", d.Name, len(statements))
		}
		archive, err := txtar.ParseFile(filepath.Join("testdata", d.Name+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		for _, statement := range statements {
			if !strings.Contains(string(archive.Files[0].Data), statement) {
				t.Errorf("%s: EnsureSchema does not send\n%s", d.Name, statement)
			}
		}
		statements[0] = ""
		if store.DDL(d)[0] == "" {
			t.Errorf("%s: a caller can change the statements", d.Name)
		}
	}
}
