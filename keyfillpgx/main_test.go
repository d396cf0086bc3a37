package keyfillpgx_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillpgx"
	"github.com/keyfill/keyfill/policy"
)

var server = testdb.New(testdb.PostgreSQL())

func TestMain(m *testing.M) {
	testdb.Main(m, server)
}

// handle is the common interface of a *pgxpool.Pool, a *pgx.Conn, a pgx.Tx and the types
// of this package that replace them: the DBTX of sqlc, with batches and COPY.
type handle interface {
	Exec(context.Context, string, ...any) (pgconn.CommandTag, error)
	Query(context.Context, string, ...any) (pgx.Rows, error)
	QueryRow(context.Context, string, ...any) pgx.Row
	SendBatch(context.Context, *pgx.Batch) pgx.BatchResults
	CopyFrom(context.Context, pgx.Identifier, []string, pgx.CopyFromSource) (int64, error)
	Begin(context.Context) (pgx.Tx, error)
}

var (
	_ handle = (*keyfillpgx.Pool)(nil)
	_ handle = (*keyfillpgx.Conn)(nil)
	_ handle = (*keyfillpgx.PoolConn)(nil)
)

// place is an empty database with a plain pool and one that fills.
type place struct {
	dsn    string
	plain  *pgxpool.Pool
	filled *keyfillpgx.Pool
}

// open makes a database by some statements, and opens it. The options change the config
// of both pools.
func open(t *testing.T, cfg *policy.Config, schema string, change ...func(*pgxpool.Config)) *place {
	t.Helper()
	p := &place{dsn: server.DSN(server.Database(t, "pgx"))}
	config, err := pgxpool.ParseConfig(p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range change {
		f(config)
	}
	if p.plain, err = pgxpool.NewWithConfig(t.Context(), config.Copy()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.plain.Close)
	if _, err := p.plain.Exec(t.Context(), schema); err != nil {
		t.Fatal(err)
	}
	below, err := pgxpool.NewWithConfig(t.Context(), config.Copy())
	if err != nil {
		t.Fatal(err)
	}
	patient := *cfg
	patient.StoreWait = cmp.Or(cfg.StoreWait, time.Minute) // a busy machine may take more than the default
	if p.filled, err = keyfillpgx.WrapPool(below, keyfill.Options{Policy: &patient}); err != nil {
		below.Close()
		t.Fatal(err)
	}
	t.Cleanup(func() {
		m := p.filled.Mount()
		if err := p.filled.Close(); err != nil {
			t.Error(err)
		}
		for table, s := range m.Stats().Tables {
			if ended := s.Stored + s.LeftOut + s.Failed + s.Unknown; ended != s.Filled && s.Withheld == 0 {
				t.Errorf("of %d filled INSERTs into %s the statistics say of %d what became of them: %+v", s.Filled, table, ended, s)
			}
		}
	})
	return p
}

// keyed is the policy for the id of t by a source in place.
func keyed(s policy.Source) *policy.Config {
	return &policy.Config{Version: 1, Tables: map[string]policy.Table{"t": {Column: "id", InPlace: &s}}}
}

// sequence is a source of integers that makes what it needs.
func sequence() policy.Source {
	return policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
}

// joined is a numbering without gaps.
func joined() policy.Source {
	return policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Transaction: policy.TransactionJoined}
}

// exec executes a statement that must succeed.
func exec(t *testing.T, db handle, sql string, args ...any) {
	t.Helper()
	if _, err := db.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// column returns the only column of a query, as text, row by row.
func column(t *testing.T, db handle, sql string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql, args...)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	got, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return got
}

// told returns what a program learns from an error: its code, its kind, or its text.
func told(err error) string {
	var server *pgconn.PgError
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &server):
		return fmt.Sprintf("%s %T", server.Code, err) // applications assert the type too
	case errors.Is(err, pgx.ErrNoRows), errors.Is(err, pgx.ErrTxClosed), errors.Is(err, pgx.ErrTxCommitRollback):
		return err.Error()
	}
	return "error: " + strings.SplitN(err.Error(), ":", 2)[0]
}

// line formats what a step of a program has seen.
func line(format string, args ...any) string { return fmt.Sprintf(format, args...) }
