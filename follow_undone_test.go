package keyfill_test

import (
	"context"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// TestFollowUndone: if the raise after an INSERT ends the transaction, the INSERT is an
// error: its row is gone, and the next statement would be committed at once. An error
// that leaves the transaction open is not the INSERT's.
func TestFollowUndone(t *testing.T) {
	for _, ends := range []bool{true, false} {
		n := &numbersDB{}
		config := n.config()
		config.Tables["t"].InPlace.Transaction = policy.TransactionAutonomous
		config.Tables["t"].InPlace.FollowExplicit = true
		db, err := keyfill.OpenDB(n, keyfill.Options{Policy: config})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		ctx := context.Background()
		if _, err := db.ExecContext(ctx, "INSERT INTO t (a, id) VALUES (?, ?)", 1, 5); err != nil {
			t.Fatal(err)
		}
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		inserted := false
		n.fails = func(what string) error {
			inserted = inserted || what == "insert"
			if what != "reserve" || !inserted {
				return nil
			}
			if ends {
				n.back()
			}
			return errFake
		}
		n.sent()
		_, err = tx.ExecContext(ctx, "INSERT INTO t (a, id) VALUES (?, ?)", 1, 50)
		if (err != nil) != ends || ends && !strings.Contains(err.Error(), "the transaction had ended") {
			t.Errorf("the transaction has ended: %v; the INSERT: %v; sent %s", ends, err, n.sent())
		}
		n.fails = nil
		_ = tx.Rollback()
	}
}

// TestAskedUndone: likewise where the transaction ends at the question which rows an
// INSERT has stored.
func TestAskedUndone(t *testing.T) {
	for _, ends := range []bool{true, false} {
		n := &numbersDB{}
		config := n.config()
		config.Tables["t"].InPlace.Transaction = policy.TransactionAutonomous
		db, err := keyfill.OpenDB(n, keyfill.Options{Policy: config})
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		db.SetMaxOpenConns(1)
		tx, err := db.Begin()
		if err != nil {
			t.Fatal(err)
		}
		asked := false
		n.fails = func(what string) error {
			if what != "ask" {
				return nil
			}
			asked = true
			if ends {
				n.back()
			}
			return errFake
		}
		ctx, rec := keyfill.Record(context.Background())
		_, err = tx.ExecContext(ctx, "INSERT OR IGNORE INTO t (a) VALUES (?), (?)", 1, 2)
		if !asked || (err != nil) != ends {
			t.Errorf("the transaction has ended: %v; asked: %v; the INSERT: %v", ends, asked, err)
		}
		for _, k := range rec.All() {
			if k.Outcome == keyfill.Stored {
				t.Errorf("key %v is %v", k.Key, k.Outcome)
			}
		}
		n.fails = nil
		_ = tx.Rollback()
	}
}
