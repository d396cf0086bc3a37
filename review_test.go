package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// TestParkedBuffer: a parked execution holds the caller's []byte. When the call
// ended before database/sql came back, and the caller uses the buffer again for
// a key of its own, that key must reach the driver.
func TestParkedBuffer(t *testing.T) {
	d := &fakeDriver{strength: contexts, skip: true}
	cfg := config("sqlite")
	cfg.Tables["t*"] = policy.Table{Column: "id", Source: "uuidv7", Layout: "binary"}
	db := open(t, d, cfg)
	ctx := context.Background()
	const query = "INSERT INTO t (id, a) VALUES (?, ?)"
	raw(t, db, func(dc rawConn) {
		id := make([]byte, 16)
		args := []driver.NamedValue{{Ordinal: 1, Value: id}, {Ordinal: 2, Value: int64(1)}}
		if _, err := dc.ExecContext(ctx, query, args); err != driver.ErrSkip {
			t.Fatal(err)
		}
		copy(id, "MY-OWN-KEY-00001")
		s, err := dc.PrepareContext(ctx, query)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.(driver.StmtExecContext).ExecContext(ctx, args); err != nil {
			t.Fatal(err)
		}
	})
	if got := string(d.sent()[0].args[0].Value.([]byte)); got != "MY-OWN-KEY-00001" {
		t.Errorf("the caller's key became %q", got)
	}
}

// TestTooManyNotEqual: literals have to be in the text that is prepared, so
// they cannot wait for the execution; arguments that equal none get a text anew.
func TestTooManyNotEqual(t *testing.T) {
	d := &fakeDriver{strength: bare}
	db := open(t, d, config("sqlserver"))
	query := "INSERT INTO t (a) VALUES (@p1)"
	args := []any{sql.NullString{String: "x", Valid: true}}
	for len(args) < 1500 {
		args = append(args, len(args))
		query += ", (@p" + itoa(len(args)) + ")"
	}
	// A driver that leaves Valuers alone: what is parked cannot be compared.
	d.strength = checkers
	d.skip = true
	d.numInput = func(string) int { return -1 }
	mustExec(t, db, query, args...)
	if n := strings.Count(d.sent()[0].query, "'"); n != 3000 {
		t.Errorf("%d quotes, want 3000", n)
	}
}

func itoa(n int) string {
	if n < 10 {
		return string(rune('0' + n))
	}
	return itoa(n/10) + itoa(n%10)
}

// TestRecordAtClose: QueryRow reads one row and closes; what the driver finds
// then, a deferred constraint or a later row, undoes what came back.
func TestRecordAtClose(t *testing.T) {
	broken := errors.New("violates a deferred constraint")
	d := &fakeDriver{strength: contexts}
	d.query = func(_ string, args []driver.NamedValue) (driver.Rows, error) {
		return &closingRows{fakeRows{columns: []string{"id"}, rows: [][]driver.Value{{args[1].Value}}}, broken}, nil
	}
	db := open(t, d, config("postgres"))
	ctx, rec := keyfill.Record(context.Background())
	var id string
	err := db.QueryRowContext(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING id", 1).Scan(&id)
	if !errors.Is(err, broken) {
		t.Fatal(err)
	}
	if k := rec.Keys("t"); len(k) != 1 || k[0].Outcome == keyfill.Stored {
		t.Errorf("recorded %v", k)
	}
	if id, ok := keyfill.Last[uuid.UUID](rec, "t"); ok {
		t.Errorf("Last gives %v", id)
	}
}

// closingRows fail when they are closed.
type closingRows struct {
	fakeRows
	err error
}

func (r *closingRows) Close() error { return r.err }

// TestRecordForeign: another column under the key's name, or a value that is
// no key, is never reported as the key.
func TestRecordForeign(t *testing.T) {
	foreign := "11111111-2222-4333-8444-555555555555"
	for _, c := range []struct {
		name, list string
		back       func(key driver.Value) driver.Value
		own        bool // the key that was sent is reported
	}{
		{"an alias", "parent AS id", func(driver.Value) driver.Value { return foreign }, true},
		{"an alias without AS", "parent id", func(driver.Value) driver.Value { return foreign }, true},
		{"an expression", "upper(id) AS id", func(driver.Value) driver.Value { return "X" }, true},
		{"a list", "id", func(driver.Value) driver.Value { return []string{"not", "hashable"} }, true},
		{"plain", "t.id", func(key driver.Value) driver.Value { return key }, true},
		{"a trigger's", "id", func(driver.Value) driver.Value { return foreign }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var sent string
			d := &fakeDriver{strength: contexts}
			d.query = func(_ string, args []driver.NamedValue) (driver.Rows, error) {
				sent = args[1].Value.(string)
				return &fakeRows{columns: []string{"id"}, rows: [][]driver.Value{{c.back(sent)}}}, nil
			}
			db := open(t, d, config("postgres"))
			ctx, rec := keyfill.Record(context.Background())
			rows, err := db.QueryContext(ctx, "INSERT INTO t (a) VALUES ($1) RETURNING "+c.list, 1)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			k := rec.Keys("t")
			want := sent
			if !c.own {
				want = foreign
			}
			if len(k) != 1 || k[0].Key != uuid.MustParse(want) || k[0].Outcome != keyfill.Stored {
				t.Errorf("recorded %v, want %s stored", k, want)
			}
		})
	}
}

// TestRegisterCopies: changes of the configuration after Register have no effect.
func TestRegisterCopies(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	cfg := config("sqlite")
	name, _ := wrap(t, d, cfg)
	delete(cfg.Tables, "t*")
	cfg.Tables["("] = policy.Table{}
	mustExec(t, mustOpen(t, name), insert, 1, 2)
	if got := d.sent()[0].query; got != inserted {
		t.Errorf("sent %q", got)
	}
}

// TestWrappedAgain: a wrapper that takes the registered name's driver from a
// database of it reaches the same mount, through OpenConnector and Open.
func TestWrappedAgain(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	name, all := wrap(t, d, config("sqlite"))
	inner := mustOpen(t, name).Driver()
	c, err := inner.(driver.DriverContext).OpenConnector("")
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	defer db.Close()
	mustExec(t, db, insert, 1, 2)
	for range 3 {
		conn, err := inner.Open("")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.(driver.ExecerContext).ExecContext(context.Background(), "INSERT INTO t (a) VALUES (1)", nil); err != nil {
			t.Fatal(err)
		}
	}
	if n := all.Stats().Tables["t"].Filled; n != 4 {
		t.Errorf("the name's mount counted %d, want 4", n)
	}
	all.SetMode(policy.ModeOff)
	mustExec(t, db, insert, 1, 2)
	if sent := d.sent(); sent[len(sent)-1].query != insert {
		t.Errorf("after off: sent %q", sent[len(sent)-1].query)
	}
}

// TestConnectorMount: the mount of a connector that another wrapper hides.
func TestConnectorMount(t *testing.T) {
	c, err := keyfill.WrapConnector(&fakeConnector{&fakeDriver{strength: contexts}}, keyfill.Options{Policy: config("sqlite")})
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	defer db.Close()
	mustExec(t, db, insert, 1, 2)
	if n := c.Mount().Stats().Tables["t"].Filled; n != 1 {
		t.Errorf("counted %d", n)
	}
}

// TestCountOnce: the detour of ErrSkip counts nothing twice, whatever the outcome of the
// statement.
func TestCountOnce(t *testing.T) {
	for _, skip := range []bool{false, true} {
		d := &fakeDriver{strength: contexts, skip: skip}
		cfg := config("sqlite")
		cfg.Unsupported = policy.Unfilled
		db := open(t, d, cfg)
		m, err := keyfill.From(db)
		if err != nil {
			t.Fatal(err)
		}
		mustExec(t, db, "INSERT INTO other (a) VALUES (?)", 1)
		mustExec(t, db, "INSERT INTO t (id) VALUES ('x' || ?)", 1)
		mustExec(t, db, "INSERT INTO t SELECT ?", 1)
		mustExec(t, db, insert, 1, 2)
		m.SetMode(policy.ModeDryRun)
		mustExec(t, db, insert, 1, 2)
		mustExec(t, db, "INSERT INTO t (id) VALUES (?)", nil)
		s := m.Stats()
		n := s.Tables["t"]
		if s.Passed != 1 || n.Kept != 1 || n.Filled != 3 || n.Keys != 1 || n.Withheld != 3 || len(n.Refused) != 1 {
			t.Errorf("skip=%v: passed %d and counted %+v", skip, s.Passed, n)
		}
	}
}

// TestDiscarded: after the end of a transaction's context, the connection of a
// driver that is not both a SessionResetter and a Validator is used no more.
func TestDiscarded(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	db := open(t, d, config("sqlite"))
	c, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(context.Background())
	tx, err := c.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	cancel()
	for len(d.took("rollback")) == 0 {
		runtime.Gosched() // database/sql rolls back on a goroutine of its own
	}
	if _, err := c.ExecContext(context.Background(), insert, 1, 2); err == nil {
		t.Error("the connection was used again")
	}
	if n := len(d.sent()); n != 0 {
		t.Errorf("%d statements sent", n)
	}
}
