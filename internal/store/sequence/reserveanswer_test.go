package sequence_test

import (
	"context"
	"database/sql/driver"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/worker"
	"github.com/keyfill/keyfill/keysource"
)

// TestOnlyTheStatement: the value that another process has left in a row after the
// statement that reserved is no reservation here: on MySQL and MariaDB the transaction
// may have ended silently, so that a SELECT reads it.
func TestOnlyTheStatement(t *testing.T) {
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()} {
		reserved := false
		usual := fakedb.EngineAnswers(d)
		usual("INSERT INTO keyfill_sequences")
		usual("INSERT INTO keyfill_workers")
		f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
			switch {
			case strings.HasPrefix(query, "UPDATE keyfill"):
				reserved = true
			case reserved && strings.Contains(query, "next_value, incarnation"):
				return fakedb.Reply{Rows: [][]driver.Value{{int64(62), "made", "server", "orders", "id", ""}}}
			case reserved && strings.HasPrefix(query, "SELECT") && strings.Contains(query, "FROM keyfill_workers"):
				return fakedb.Reply{Rows: [][]driver.Value{{int64(1500)}}}
			}
			return usual(query)
		}}
		db := store.Pool(d, fakedb.Connector(f, fakedb.Strengths[2].Make))
		defer db.Close()
		st := store.New(d, db)
		got, err := sequence.Reserve(context.Background(), st, fakedb.Orders, 10, 0)
		if err != nil || got != (keysource.Reservation{First: 42, Server: "made@server"}) {
			t.Errorf("%s: %+v, %v; want 42", d.Name, got, err)
		}
		reserved = false
		before, err := worker.Mark(context.Background(), st, worker.Worker{Name: "flakes", Number: 1}, 2000)
		if err != nil || before != 1000 {
			t.Errorf("%s: the mark was %d, %v; want 1000", d.Name, before, err)
		}
	}
}

// TestOnlyOneRow: an UPDATE that has changed no row has reserved nothing, whatever
// LAST_INSERT_ID says: it belongs to another statement.
func TestOnlyOneRow(t *testing.T) {
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()} {
		usual := fakedb.EngineAnswers(d)
		usual("INSERT INTO keyfill_sequences")
		f := &fakedb.DB{Answer: func(query string) fakedb.Reply {
			if strings.HasPrefix(query, "UPDATE keyfill") {
				return fakedb.Reply{Affected: 0, ID: 52}
			}
			return usual(query)
		}}
		db := store.Pool(d, fakedb.Connector(f, fakedb.Strengths[2].Make))
		defer db.Close()
		if got, err := sequence.Reserve(context.Background(), store.New(d, db), fakedb.Orders, 10, 0); err == nil || got != (keysource.Reservation{}) {
			t.Errorf("%s: %+v, %v; want an error", d.Name, got, err)
		}
	}
}
