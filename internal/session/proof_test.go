package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/store"
)

// numberedError is an engine's error with its number.
type numberedError int32

func (numberedError) Error() string           { return "the savepoint does not exist" }
func (n numberedError) SQLErrorNumber() int32 { return int32(n) }

// TestProof: the statements that prove that a transaction is open, before the drawing and
// after it.
//
//deviation:keys-of-a-transaction | To prove an open transaction the savepoint `keyfill_proof` is set, gone back to and released: three statements more, two outside of transactions. | MySQL; MariaDB with autocommit off | – | –
func TestProof(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name  string
		d     *dialect.Dialect
		alone bool // autocommit is on
		begun bool
		sent  string
	}{
		{"MySQL", dialect.MySQL(), true, false,
			"SAVEPOINT keyfill_proof; ROLLBACK TO SAVEPOINT keyfill_proof; RELEASE SAVEPOINT keyfill_proof"},
		{"MySQL, just begun", dialect.MySQL(), true, true,
			"SAVEPOINT keyfill_proof; RELEASE SAVEPOINT keyfill_proof"},
		{"MariaDB, whose key proves it", dialect.MariaDB(), true, false, ""},
		{"MariaDB without autocommit", dialect.MariaDB(), false, false,
			"SAVEPOINT keyfill_proof; ROLLBACK TO SAVEPOINT keyfill_proof; RELEASE SAVEPOINT keyfill_proof"},
		{"PostgreSQL", dialect.PostgreSQL(), true, false, ""},
		{"Oracle, whose driver ends it", dialect.Oracle(), true, false, ""},
	} {
		conn, f := newConn(c.d, drivers.Facts{})
		conn.Tx, conn.commits = Inside, knownCommits{asked: true, alone: c.alone}
		err := conn.ProveBefore(ctx, c.begun)
		if err == nil {
			err = conn.ProveAfter(ctx)
		}
		if got := strings.Join(f.sent, "; "); got != c.sent || err != nil {
			t.Errorf("%s: sent %q, %v, want %q", c.name, got, err, c.sent)
		}
	}
}

// TestProofFails: a transaction that the engine has ended is found out before the drawing
// and after it, and a draw in the transaction after it is undone.
func TestProofFails(t *testing.T) {
	ctx := context.Background()
	d := dialect.MySQL()
	for _, fails := range []string{d.Transactions.Undo, d.Transactions.Probe} {
		fails = strings.Replace(fails, "%", proofSavepoint, 1)
		conn, f := newConn(d, drivers.Facts{})
		conn.Tx = Inside
		f.answer = func(query string) ([]driver.Value, error) {
			if query == fails {
				return nil, numberedError(d.Transactions.Ended)
			}
			return nil, nil
		}
		err := conn.ProveBefore(ctx, false)
		if err == nil {
			err = conn.ProveAfter(ctx)
		}
		if !errors.Is(err, store.ErrEnded) || f.sent[len(f.sent)-1] != "ROLLBACK" {
			t.Errorf("%q fails: %v, sent %q", fails, err, f.sent)
		}
	}
	// Any other error says nothing of the transaction.
	conn, f := newConn(d, drivers.Facts{})
	f.answer = func(string) ([]driver.Value, error) { return nil, errFailed }
	if err := conn.ProveAfter(ctx); !errors.Is(err, errFailed) || errors.Is(err, store.ErrEnded) {
		t.Errorf("another error: %v", err)
	}
}
