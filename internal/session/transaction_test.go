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

var stateNames = map[TxState]string{Outside: "outside", Inside: "inside", Unknown: "unknown", Unasked: "unasked"}

// TestTransactionFollowed: what is known of a transaction after each of a connection's
// steps.
func TestTransactionFollowed(t *testing.T) {
	my, pg, lite, ms, ora := dialect.MySQL(), dialect.PostgreSQL(), dialect.SQLite(), dialect.SQLServer(), dialect.Oracle()
	for _, c := range []struct {
		d     *dialect.Dialect
		steps string // by ";": step → state
	}{
		{my, "BeginTx → inside; INSERT INTO t VALUES (1) → inside; Commit → outside"},
		{my, "BeginTx → inside; INSERT INTO t VALUES (1)! → inside; Rollback → outside"},
		{my, "BEGIN → inside; COMMIT → outside; SELECT 1 → outside"},
		{my, "BEGIN → inside; ROLLBACK TO SAVEPOINT a → inside; ROLLBACK → outside"},
		{my, "START TRANSACTION! → unknown; ROLLBACK → outside"},
		{my, "BEGIN → inside; CREATE TABLE a (b INT) → unasked; COMMIT → outside"}, // it commits on the side
		{my, "BEGIN → inside; CALL p() → unknown; CREATE TABLE a (b INT) → unknown"},
		{my, "SET autocommit = 0 → unknown; COMMIT → outside"}, // and Inside asks when statements commit
		{pg, "BEGIN → inside; CREATE TABLE a (b INT) → inside; COMMIT → outside"},
		{pg, "BeginTx → inside; Commit! → outside"}, // PostgreSQL ends it all the same
		{my, "BeginTx → inside; Commit! → unknown"},
		{lite, "SAVEPOINT a → inside; RELEASE a → unasked"}, // it has begun with the savepoint
		{lite, "TRUNCATE t! → unasked"},
		{lite, "BEGIN → inside; SAVEPOINT a → inside; RELEASE a → inside; COMMIT → outside"},
		{my, "BeginTx → inside; COMMIT → outside; Rollback → outside"},
		{ms, "BeginTx → inside; BEGIN TRANSACTION → inside; Commit → unknown"}, // it counts them
		// A change opens a transaction, which the driver commits at once, except after
		// BeginTx.
		{ora, "INSERT INTO t VALUES (1) → outside; SAVEPOINT a → outside; UPDATE t SET a = 1 → outside; COMMIT → outside"},
		{ora, "SET TRANSACTION READ WRITE → outside; CALL p() → outside; CREATE TABLE a (b INT) → outside"},
		{ora, "BeginTx → inside; UPDATE t SET a = 1 → inside; SAVEPOINT a → inside; ROLLBACK TO SAVEPOINT a → inside; Commit → outside"},
		{ora, "BeginTx → inside; COMMIT → inside; ROLLBACK → inside; CREATE TABLE a (b INT) → inside; Rollback → outside"},
	} {
		conn, f := newConn(c.d, drivers.Facts{})
		var tx driver.Tx
		for _, s := range strings.Split(c.steps, "; ") {
			step, want, _ := strings.Cut(s, " → ")
			run(t, conn, f, &tx, step)
			if got := stateNames[conn.Tx]; got != want {
				t.Errorf("%s: %s: at %q the state is %s, want %s", c.d.Name, c.steps, step, got, want)
				break
			}
		}
	}
}

// TestTransactionOfDriver: on Oracle, where the driver commits each change outside of
// BeginTx, only BeginTx decides whether a transaction is open, and the engine is not
// asked: after the application's changes and texts, keyfill begins one of its own.
func TestTransactionOfDriver(t *testing.T) {
	conn, f := newConn(dialect.Oracle(), drivers.Facts{})
	var tx driver.Tx
	for _, c := range []struct {
		step string
		want bool
	}{
		{"UPDATE t SET a = 1", false},
		{"SAVEPOINT a", false},
		{"SET TRANSACTION READ WRITE", false},
		{"BeginTx", true},
		{"COMMIT", true},
		{"CREATE TABLE a (b INT)", true},
		{"Commit", false},
		{"INSERT INTO t VALUES (1)", false},
	} {
		run(t, conn, f, &tx, c.step)
		f.sent = nil
		got, err := conn.IsInTransaction(context.Background())
		if got != c.want || err != nil || len(f.sent) > 0 {
			t.Errorf("behind %q: %v, %v, want %v; sent %q", c.step, got, err, c.want, f.sent)
		}
	}
}

// TestTransactionReset: the next use of a connection has no open transaction if the
// driver undoes it, and the state stays if it does not.
func TestTransactionReset(t *testing.T) {
	for _, c := range []struct {
		facts drivers.Facts
		want  TxState
	}{
		{drivers.Facts{ResetsSession: true}, Unknown},
		{drivers.Facts{KeepsSession: true}, Inside},
	} {
		conn, f := newConn(dialect.SQLServer(), c.facts)
		var tx driver.Tx
		run(t, conn, f, &tx, "BeginTx")
		run(t, conn, f, &tx, "reset")
		if conn.Tx != c.want {
			t.Errorf("%+v: the state is %s, want %s", c.facts, stateNames[conn.Tx], stateNames[c.want])
		}
	}
}

// TestUndos: Undos counts each event that may have given back the numbers of a
// transaction, and no other.
func TestUndos(t *testing.T) {
	conn, f := newConn(dialect.MySQL(), drivers.Facts{})
	var tx driver.Tx
	for _, c := range []struct {
		step  string
		moves bool
	}{
		{"BeginTx", true},
		{"INSERT INTO t VALUES (1)", false},
		{"SELECT 1", false},
		{"SAVEPOINT a", false},
		{"ROLLBACK TO SAVEPOINT a", true},
		{"ROLLBACK TO SAVEPOINT a!", true},
		{"UPDATE t SET a = 1", false},
		{"Rollback", true},
	} {
		before := conn.Undos
		run(t, conn, f, &tx, c.step)
		if got := conn.Undos != before; got != c.moves {
			t.Errorf("%q moves Undos: %v, want %v", c.step, got, c.moves)
		}
	}
	if conn.Begins != 2 { // the first count is the one before any
		t.Errorf("Begins is %d after one transaction, want 2", conn.Begins)
	}
}

// TestRolledBackTo: a rollback to a savepoint takes the mark of a transaction of the
// application away, and leaves the transaction of keyfill's own.
func TestRolledBackTo(t *testing.T) {
	for _, ours := range []bool{true, false} {
		conn, f := newConn(dialect.PostgreSQL(), drivers.Facts{})
		var tx driver.Tx
		run(t, conn, f, &tx, "BeginTx")
		conn.Ongoing = store.Ongoing{Ours: ours}
		run(t, conn, f, &tx, "ROLLBACK TO SAVEPOINT a")
		if conn.Ongoing.Ours != ours || conn.Tx != Inside {
			t.Errorf("ours: %v: %+v, %s", ours, conn.Ongoing, stateNames[conn.Tx])
		}
	}
}

// TestOver: a transaction that was taken to be open and is none is over until the
// application ends it.
func TestOver(t *testing.T) {
	conn, f := newConn(dialect.MySQL(), drivers.Facts{})
	var tx driver.Tx
	run(t, conn, f, &tx, "BeginTx")
	conn.MarkEnded()
	run(t, conn, f, &tx, "INSERT INTO t VALUES (1)")
	if !conn.Ended || conn.Tx != Unknown {
		t.Fatalf("ended: %v, %s", conn.Ended, stateNames[conn.Tx])
	}
	run(t, conn, f, &tx, "Rollback")
	if conn.Ended || conn.Tx != Outside {
		t.Errorf("behind the rollback: ended: %v, %s", conn.Ended, stateNames[conn.Tx])
	}
}

// TestInsideAsked: if the texts do not show whether a transaction is open, the engine is
// asked.
func TestInsideAsked(t *testing.T) {
	ctx := context.Background()
	no := errors.New("no answer")
	for _, c := range []struct {
		name   string
		d      *dialect.Dialect
		state  TxState
		begun  bool
		answer []driver.Value
		err    error
		inside bool
		then   TxState
		ended  bool
		asks   bool
	}{
		{"MySQL, autocommit", dialect.MySQL(), Outside, false, []driver.Value{int64(1), "NO_CHAIN"}, nil, false, Outside, false, true},
		{"MySQL, no autocommit", dialect.MySQL(), Outside, false, []driver.Value{[]byte("0"), []byte("NO_CHAIN")}, nil, true, Inside, false, true},
		{"MySQL, open", dialect.MySQL(), Inside, false, []driver.Value{int64(1), "CHAIN"}, nil, true, Inside, false, true},
		{"MySQL, not known", dialect.MySQL(), Unknown, false, nil, no, false, Unknown, false, false},
		{"SQL Server, open", dialect.SQLServer(), Unknown, false, []driver.Value{int64(1)}, nil, true, Inside, false, true},
		{"SQL Server, none", dialect.SQLServer(), Unknown, false, []driver.Value{int64(0)}, nil, false, Outside, false, true},
		{"SQL Server, begins by itself", dialect.SQLServer(), Unknown, false, []driver.Value{int64(2)}, nil, false, Unknown, false, true},
		{"SQL Server, ended below database/sql", dialect.SQLServer(), Unknown, true, []driver.Value{int64(0)}, nil, false, Unknown, true, true},
		{"SQL Server, no answer", dialect.SQLServer(), Unknown, false, nil, no, false, Unknown, false, true},
		{"PostgreSQL", dialect.PostgreSQL(), Inside, false, nil, no, true, Inside, false, false},
	} {
		conn, f := newConn(c.d, drivers.Facts{})
		conn.Tx, conn.begun = c.state, c.begun
		f.answer = func(string) ([]driver.Value, error) { return c.answer, c.err }
		inside, err := conn.IsInTransaction(ctx)
		if inside != c.inside || conn.Tx != c.then || conn.Ended != c.ended || (len(f.sent) > 0) != c.asks {
			t.Errorf("%s: inside %v, %s, ended %v, sent %q", c.name, inside, stateNames[conn.Tx], conn.Ended, f.sent)
		}
		if wants := c.asks && c.err != nil; (err != nil) != wants {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestChains: a session whose commits begin another transaction cannot end one of
// keyfill's own.
func TestChains(t *testing.T) {
	conn, f := newConn(dialect.MySQL(), drivers.Facts{})
	f.answer = func(string) ([]driver.Value, error) { return []driver.Value{int64(1), "CHAIN"}, nil }
	if _, err := conn.IsInTransaction(context.Background()); !errors.Is(err, ErrChains) {
		t.Errorf("%v, want %v", err, ErrChains)
	}
}

// TestUndo: a transaction that can neither be committed nor rolled back ends with its
// connection, unless the database does too.
func TestUndo(t *testing.T) {
	for _, c := range []struct {
		memory  bool
		undoErr error
		valid   bool
		state   TxState
	}{
		{false, nil, true, Outside},
		{false, errors.New(noTransaction), true, Outside},
		{false, errFailed, false, Unknown},
		{true, errFailed, true, Unknown},
	} {
		conn, f := newConn(dialect.SQLite(), drivers.Facts{})
		conn.InMemory = c.memory
		f.answer = func(query string) ([]driver.Value, error) {
			if query == "ROLLBACK" {
				return nil, c.undoErr
			}
			return nil, errFailed
		}
		conn.EndFailed(context.Background(), errFailed)
		if conn.IsValid() != c.valid || conn.Tx != c.state {
			t.Errorf("%+v: valid %v, %s", c, conn.IsValid(), stateNames[conn.Tx])
		}
		if conn.EndFailed(context.Background(), nil); len(f.sent) == 0 || conn.Tx != c.state {
			t.Errorf("%+v: nothing has failed, and %q was sent", c, f.sent)
		}
	}
}
