package store_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/keysource"
)

// TestStatements compares what is sent to each engine, in a session that uses
// every statement, with testdata/<dialect>.txtar. The comment of an archive
// says which manual allows the forms. MariaDB, PostgreSQL and SQLite run the
// same statements in e2e.
func TestStatements(t *testing.T) {
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			f := &fakedb.DB{Answer: fakedb.EngineAnswers(d)}
			db := store.Pool(d, fakedb.Connector(f, func(f *fakedb.DB) driver.Conn { return fakedb.FullOf(f) }))
			defer db.Close()
			got := session(t, f, store.New(d, db))
			fakedb.Compare(t, filepath.Join("testdata", goldens.Of(d)+".txtar"), got)
		})
	}
}

// session uses every statement, and returns what is sent by each call.
func session(t *testing.T, f *fakedb.DB, st *store.Store) []txtar.File {
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
		got = append(got, txtar.File{Name: name, Data: []byte(f.Lines() + "\n")})
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
	unbound := f.Answer
	f.Answer = bindingAnswers(unbound, 1)
	q.Shared = true
	_, err = reserver.Open(ctx, st, q)
	step("Open of a shared row", err)
	f.Answer = bindingAnswers(unbound, 0)
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
func bindingAnswers(usual func(string) fakedb.Reply, before int) func(string) fakedb.Reply {
	made, next := false, int64(0)
	return func(query string) fakedb.Reply {
		switch {
		case strings.Contains(query, "INTO keyfill_sequences"):
			made = true
		case strings.Contains(query, "SET next_value = 1\n"):
			next = 1
		case !strings.Contains(query, "parameters FROM keyfill_sequences"):
		case before > 0:
			before--
		case !made:
			return fakedb.Reply{}
		default:
			return fakedb.Reply{Rows: [][]driver.Value{{next, "made", "server", "sales.orders", "id", "binding"}}}
		}
		return usual(query)
	}
}

// TestDDL: the statements of DDL are those that EnsureSchema sends.
func TestDDL(t *testing.T) {
	for _, d := range dialect.All() {
		statements := store.DDL(d)
		if len(statements) != 3 {
			t.Errorf("%s: %d statements", d.Name, len(statements))
		}
		archive, err := txtar.ParseFile(filepath.Join("testdata", goldens.Of(d)+".txtar"))
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

// TestProcedureDDL: the procedures are there for every engine that has any, and
// check what they are given and what they have changed.
func TestProcedureDDL(t *testing.T) {
	for _, d := range dialect.All() {
		all := strings.Join(store.ProcedureDDL(d), "\n")
		if d.Name == dialect.SQLite().Name {
			if all != "" {
				t.Errorf("SQLite has %s", all)
			}
			continue
		}
		for _, part := range []string{store.ReserveProcedure, "count must be an integer of at least 1", "not one row of that name", "< 1"} {
			if !strings.Contains(all, part) {
				t.Errorf("%s: no %q in\n%s", d.Name, part, all)
			}
		}
	}
}
