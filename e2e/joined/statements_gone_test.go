package joined_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// goneTexts are texts after which the server no longer has what pgx has prepared, or
// plans it anew.
var goneTexts = map[string][]string{
	"DISCARD ALL":              {"DISCARD ALL"},
	"DEALLOCATE ALL":           {"DEALLOCATE ALL"},
	"deallocate among others":  {"SELECT 1; /* all */ deallocate /* */ all; SELECT 2"},
	"by a block":               {"DO $$ BEGIN EXECUTE 'DEALLOCATE ALL'; END $$"},
	"by a function":            {"SELECT forget()"},
	"DISCARD PLANS":            {"DISCARD PLANS"},
	"DISCARD SEQUENCES":        {"DISCARD SEQUENCES"},
	"the type of the key":      {"ALTER TABLE t ALTER id TYPE INT"},
	"the type of the scope":    {"ALTER TABLE t ALTER p TYPE INT"},
	"the table is another one": {"DROP TABLE t", "CREATE TABLE t (id INT PRIMARY KEY, p INT DEFAULT 1, a INT)"},
}

// TestStatementsGone: keyfill's own statements go through after the server has forgotten
// what the driver has prepared, outside of a transaction and in one.
func TestStatementsGone(t *testing.T) {
	t.Parallel()
	sources := map[string]policy.Source{
		"joined":     *harness.JoinedSource(),
		"maxplusone": {Kind: policy.KindMaxPlusOne, Lock: policy.LockRange, EnsureSchema: true},
		"none":       {Kind: policy.KindMaxPlusOne, Lock: policy.LockNone},
		"sequence":   {Kind: policy.KindSequence, EnsureSchema: true},
		"scope":      {Kind: policy.KindSequence, Scope: &policy.Scope{{Column: "p"}}, EnsureSchema: true},
	}
	harness.Each(t, []harness.Engine{harness.PgxDefault, harness.PgxMode("cache_describe")}, func(t *testing.T, s *harness.Scratch) {
		for name, source := range sources {
			if !s.Is(harness.PgxDefault) && name != "joined" {
				continue // types alone are remembered there
			}
			for what, texts := range goneTexts {
				t.Run(name+"/"+what, func(t *testing.T) { statementsGone(t, s, source, texts) })
			}
		}
	})
}

// sends sends an INSERT whose text never comes again, so that the driver has not prepared it.
type sends func(ctx context.Context, query string, args ...any) (sql.Result, error)

func statementsGone(t *testing.T, s *harness.Scratch, source policy.Source, texts []string) {
	ctx := t.Context()
	harness.Must(t, s.Raw, "DROP TABLE IF EXISTS t, keyfill_sequences", "CREATE TABLE t (id BIGINT PRIMARY KEY, p INT DEFAULT 1, a INT)",
		"CREATE OR REPLACE FUNCTION forget() RETURNS INT AS $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN 1; END $$ LANGUAGE plpgsql")
	db, _ := s.Open(t, harness.FillID("t", policy.Table{InPlace: &source, MaxBits: 31}))
	db.SetMaxOpenConns(1)
	n, types := 0, 0
	insert := func(what string, send sends) {
		t.Helper()
		n++
		if _, err := send(ctx, fmt.Sprintf("INSERT INTO t (p, a) VALUES (1, %d)", n)); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	within := func(what string, f func(send sends)) {
		t.Helper()
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		f(tx.ExecContext)
		if err := tx.Commit(); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	gone := func(send sends) {
		t.Helper()
		for _, text := range texts {
			if types++; types%2 == 0 {
				text = strings.ReplaceAll(text, "INT", "BIGINT")
			}
			if _, err := send(ctx, text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	}
	for range 2 {
		insert("at first", db.ExecContext)
		within("at first", func(send sends) { insert("at first, in a transaction", send) })
		gone(db.ExecContext)
		insert("behind", db.ExecContext)
		insert("behind, again", db.ExecContext)
		if strings.Contains(texts[0], "forget()") {
			continue // no text shows it, and a transaction of the application's fails
		}
		gone(db.ExecContext)
		within("behind", func(send sends) {
			insert("behind, in a transaction", send)
			insert("behind, in a transaction, again", send)
		})
		if strings.HasPrefix(texts[0], "DISCARD ALL") {
			continue // not in a transaction
		}
		within("inside", func(send sends) {
			insert("before it in the transaction", send)
			gone(send)
			insert("behind it in the transaction", send)
			insert("behind it in the transaction, again", send)
		})
	}
}

// TestStatementsGoneUnseen: where a function has the server forget in a transaction, that
// transaction fails, and the next one does not.
//
//deviation:wrapper | In pgx's modes with a cache, in a transaction, after a function has called DEALLOCATE, or a hook of the pool the first time, keyfill's own statement fails with 26000, as the program's own would. | all | `SELECT f()` and then an INSERT | the text `DEALLOCATE ALL`
func TestStatementsGoneUnseen(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)",
		"CREATE FUNCTION forget() RETURNS INT AS $$ BEGIN EXECUTE 'DEALLOCATE ALL'; RETURN 1; END $$ LANGUAGE plpgsql")
	db, _ := s.Open(t, harness.InPlace(*harness.JoinedSource()))
	db.SetMaxOpenConns(1)
	var answered *pgconn.PgError
	for _, fails := range []bool{true, false} {
		harness.Must(t, db, "INSERT INTO t (a) VALUES (1)")
		err := harness.InTx(db, func(tx *sql.Tx) error {
			harness.Must(t, tx, "INSERT INTO t (a) VALUES (2)")
			if fails {
				harness.Must(t, tx, "SELECT forget()")
			}
			_, err := tx.Exec("INSERT INTO t (a) VALUES (3)")
			return err
		})
		if (err != nil) != fails || fails && (!errors.As(err, &answered) || answered.Code != "26000") {
			t.Errorf("fails is %v, and the error %v", fails, err)
		}
	}
	s.WantNumbers(t, harness.UpTo(4)...)
}
