package keyfill_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"maps"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/rewrite"
)

// loadingDriver is a driver that takes the rows of a bulk load as executions.
func loadingDriver(s strength) *fakeDriver {
	return &fakeDriver{strength: s, numInput: func(string) int { return -1 }}
}

const copyT = "COPY t (name) FROM STDIN"

// TestLoad: each execution has its key after the values of its row, and the one without
// arguments has none.
func TestLoad(t *testing.T) {
	for _, s := range []strength{bare, contexts, checkers} {
		d := loadingDriver(s)
		db := open(t, d, config("postgres"))
		ctx, rec := keyfill.Record(context.Background())
		stmt, err := db.PrepareContext(ctx, copyT)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]any{{"a"}, {"b"}, nil} {
			if _, err := stmt.ExecContext(ctx, args...); err != nil {
				t.Fatal(err)
			}
		}
		if err := stmt.Close(); err != nil {
			t.Fatal(err)
		}
		sent, keys := d.sent(), rec.Keys("t")
		if len(sent) != 3 || len(keys) != 2 || len(sent[2].args) != 0 {
			t.Fatalf("strength %d: %d keys, sent %+v", s, len(keys), sent)
		}
		for i, name := range []string{"a", "b"} {
			args := sent[i].args
			if sent[i].query != `COPY t (name, "id") FROM STDIN` || len(args) != 2 || args[0].Value != name ||
				args[1].Value != keys[i].Key.(uuid.UUID).String() || args[1].Ordinal != 2 {
				t.Errorf("strength %d: row %d sent as %+v", s, i, sent[i])
			}
			// The driver says that one row is stored, and there were two.
			if keys[i].Outcome != keyfill.Unknown {
				t.Errorf("strength %d: key %d is %s", s, i, keys[i].Outcome)
			}
		}
	}
}

// TestLoadNotByExecution: a driver whose statement has no place for rows is not
// known before it is asked; nothing is executed then.
func TestLoadNotByExecution(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	db := open(t, d, config("postgres"))
	if _, err := db.Prepare(copyT); !errors.Is(err, rewrite.ErrBulk) {
		t.Errorf("error %v, want %v", err, rewrite.ErrBulk)
	}
	stmt, err := db.Prepare("COPY t (name, id) FROM STDIN")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	if sent := d.sent(); len(sent) != 0 {
		t.Errorf("sent %+v", sent)
	}
	if _, err := db.Exec(copyT); !errors.Is(err, rewrite.ErrBulk) {
		t.Errorf("error %v, want %v", err, rewrite.ErrBulk)
	}
	if _, err := db.Exec("COPY t (name, id) FROM STDIN"); err != nil || len(d.sent()) != 1 {
		t.Errorf("error %v, sent %+v", err, d.sent())
	}
}

// TestLoadBroken: a row that may or may not have been sent has an unknown key,
// which no other row gets. The load is counted as broken, and one that the program ends
// too early as unended.
func TestLoadBroken(t *testing.T) {
	d := loadingDriver(contexts)
	broken := errors.New("the connection is gone")
	fails := false
	d.exec = func(_ string, args []driver.NamedValue) (driver.Result, error) {
		if fails {
			return nil, broken
		}
		return driver.RowsAffected(1), nil
	}
	db := open(t, d, config("postgres"))
	ctx, rec := keyfill.Record(context.Background())
	stmt, err := db.PrepareContext(ctx, copyT)
	if err != nil {
		t.Fatal(err)
	}
	fails = true
	if _, err := stmt.ExecContext(ctx, "a"); err != broken {
		t.Errorf("error %v, want the driver's", err)
	}
	fails = false
	if _, err := stmt.ExecContext(ctx, "b"); err != nil {
		t.Fatal(err)
	}
	fails = true
	if _, err := stmt.ExecContext(ctx); err != broken {
		t.Errorf("error %v, want the driver's", err)
	}
	keys := rec.Keys("t")
	if len(keys) != 2 || keys[0].Outcome != keyfill.Unknown || keys[1].Outcome != keyfill.Unknown || keys[0].Key == keys[1].Key {
		t.Errorf("recorded %+v", keys)
	}

	if err := stmt.Close(); err != nil {
		t.Fatal(err)
	}
	fails = false
	early, err := db.PrepareContext(ctx, copyT)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := early.Exec("c"); err != nil {
		t.Fatal(err)
	}
	if err := early.Close(); err != nil {
		t.Fatal(err)
	}
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	want := map[keyfill.Cause]uint64{keyfill.CauseConnection: 2, keyfill.CauseUnended: 1}
	if got := m.Stats().Tables["t"]; got.Filled != 3 || got.Unknown != 3 || !maps.Equal(got.UnknownBy, want) {
		t.Errorf("counted %+v, want %v as unknown", got, want)
	}
}
