package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/rewrite"
)

// countedResult is a driver's own result, with the results of each statement that
// go-sql-driver/mysql has.
type countedResult struct{ driver.Result }

func (countedResult) AllRowsAffected() []int64  { return []int64{3, 1} }
func (countedResult) AllLastInsertIds() []int64 { return []int64{7, 8} }

// connected returns a connection as database/sql has it.
func connected(t *testing.T, d *fakeDriver, cfg keyfill.Options) driver.Conn {
	t.Helper()
	c, err := keyfill.WrapConnector(&fakeConnector{d}, cfg)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := c.Connect(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(); c.Close() })
	return conn
}

// TestDriversOwn: a statement that does not concern keyfill, one that is passed, and one
// that is filled with keys that need no watching return the driver's own Result, Rows and
// Stmt.
func TestDriversOwn(t *testing.T) {
	ctx := context.Background()
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}, {Ordinal: 2, Value: "x"}}
	watched := map[string]bool{insert: true, "INSERT INTO t (id, b) VALUES (?, ?)": true, "ROLLBACK": true}
	for _, query := range []string{
		"SELECT a FROM t WHERE a = ? AND b = ?",
		"UPDATE t SET a = ? WHERE b = ?",
		"INSERT INTO other (a, b) VALUES (?, ?)",
		"INSERT INTO t (id, b) VALUES (?, ?)",
		"ROLLBACK",
		insert,
	} {
		t.Run(query, func(t *testing.T) {
			result, rows := &countedResult{driver.RowsAffected(1)}, &fakeRows{columns: []string{"a"}}
			d := &fakeDriver{strength: contexts}
			d.exec = func(string, []driver.NamedValue) (driver.Result, error) { return result, nil }
			d.query = func(string, []driver.NamedValue) (driver.Rows, error) { return rows, nil }
			conn := connected(t, d, keyfill.Options{Policy: config("sqlite")})
			for range 3 { // as a text that was not seen before, and as one that was
				if res, err := conn.(driver.ExecerContext).ExecContext(ctx, query, args); res != driver.Result(result) || err != nil {
					t.Errorf("Exec gave %T, %v, not the driver's result", res, err)
				}
				if r, err := conn.(driver.QueryerContext).QueryContext(ctx, query, args); r != driver.Rows(rows) || err != nil {
					t.Errorf("Query gave %T, %v, not the driver's rows", r, err)
				}
				stmt, err := conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
				if err != nil {
					t.Fatal(err)
				}
				if _, own := stmt.(*contextStmt); own == watched[query] {
					t.Errorf("Prepare gave %T", stmt)
				}
				if res, err := stmt.(driver.StmtExecContext).ExecContext(ctx, args); res != driver.Result(result) || err != nil {
					t.Errorf("an execution gave %T, %v, not the driver's result", res, err)
				}
				if r, err := stmt.(driver.StmtQueryContext).QueryContext(ctx, args); r != driver.Rows(rows) || err != nil {
					t.Errorf("an execution gave %T, %v, not the driver's rows", r, err)
				}
			}
		})
	}
}

// TestSeveralResults: a Result of ours has the results of each statement as
// go-sql-driver/mysql's has, and LastInsertId is our key in both.
//
//deviation:wrapper | A `Result` whose LastInsertId is keyfill's is not of the driver's type. `AllRowsAffected` and `AllLastInsertIds` of go-sql-driver/mysql are there, and the last of these ids is the key. | all | a type assertion on the driver's own type, through Raw | `last_insert_id: off`
func TestSeveralResults(t *testing.T) {
	type several interface {
		AllRowsAffected() []int64
		AllLastInsertIds() []int64
	}
	d := &fakeDriver{strength: contexts}
	args := []driver.NamedValue{{Ordinal: 1, Value: int64(1)}, {Ordinal: 2, Value: "x"}}
	cfg := sequences("mysql")
	tables := cfg.Policy.Tables["t*"]
	tables.LastInsertID = "result"
	cfg.Policy.Tables["t*"] = tables
	conn := connected(t, d, cfg)
	own := driver.Result(countedResult{driver.RowsAffected(1)})
	d.exec = func(string, []driver.NamedValue) (driver.Result, error) { return own, nil }
	res, err := conn.(driver.ExecerContext).ExecContext(context.Background(), insert, args)
	if err != nil {
		t.Fatal(err)
	}
	all, ok := res.(several)
	if !ok {
		t.Fatalf("the result is %T, which hides the results of each statement", res)
	}
	if !slices.Equal(all.AllRowsAffected(), []int64{3, 1}) || !slices.Equal(all.AllLastInsertIds(), []int64{7, 1}) {
		t.Errorf("the results of each statement are %v and %v", all.AllRowsAffected(), all.AllLastInsertIds())
	}
	if id, err := res.LastInsertId(); id != 1 || err != nil {
		t.Errorf("LastInsertId is %d, %v, want our key, 1", id, err)
	}
	own = driver.RowsAffected(1)
	if res, err = conn.(driver.ExecerContext).ExecContext(context.Background(), insert, args); err != nil {
		t.Fatal(err)
	}
	if _, ok := res.(several); ok {
		t.Error("the result tells of each statement what the driver does not")
	}
}

// shouting is a driver.Valuer.
type shouting string

func (s shouting) Value() (driver.Value, error) {
	if s == "" {
		return nil, errors.New("nothing to shout")
	}
	return strings.ToUpper(string(s)), nil
}

// TestArgumentsAsWithout: arguments of every kind come to a driver that does not
// check them as without keyfill, and so do the errors.
func TestArgumentsAsWithout(t *testing.T) {
	n, none := 7, (*int)(nil)
	type named int32
	values := []any{
		nil, 7, int64(7), uint8(7), uint64(1) << 63, "x", []byte("x"), true, 1.5, float32(1.5), named(7), &n, none,
		time.Unix(7, 0), shouting("x"), shouting(""), (*shouting)(nil), sql.NullString{}, []string{"x"}, struct{}{},
		sql.Named("a", 7), driver.Value(int64(7)),
	}
	for _, one := range []struct {
		strength strength
		converts bool
	}{{contexts, false}, {contexts, true}, {bare, false}, {bare, true}} {
		for _, query := range []string{"UPDATE t SET a = ?", "INSERT INTO other (a) VALUES (?)", "INSERT INTO t (a) VALUES (?)"} {
			for _, prepared := range []bool{false, true} {
				for _, value := range values {
					if _, named := value.(sql.NamedArg); named && strings.HasPrefix(query, "INSERT INTO t") {
						continue // refused beside ?
					}
					outcome := func(open func(*fakeDriver) *sql.DB) string {
						d := &fakeDriver{strength: one.strength, converts: one.converts}
						db := open(d)
						defer db.Close()
						exec := func(args ...any) (sql.Result, error) { return db.Exec(query, args...) }
						if prepared {
							s, err := db.Prepare(query)
							if err != nil {
								t.Fatal(err)
							}
							defer s.Close()
							exec = s.Exec
						}
						_, err := exec(value)
						sent := "nothing"
						if calls := d.sent(); len(calls) > 0 {
							sent = fmt.Sprintf("%T %+v", calls[0].args[0].Value, calls[0].args[0])
						}
						return fmt.Sprintf("%s, error %v", sent, err)
					}
					want := outcome(func(d *fakeDriver) *sql.DB { return sql.OpenDB(&fakeConnector{d}) })
					got := outcome(func(d *fakeDriver) *sql.DB { return open(t, d, config("sqlite")) })
					if got != want {
						t.Errorf("%s, prepared %t, %+v, %T: sent %s; without keyfill %s", query, prepared, one, value, got, want)
					}
				}
			}
		}
	}
}

// TestCountedTogether: what many connections do at once, with texts that come again
// and others that do not, is counted to the last statement.
func TestCountedTogether(t *testing.T) {
	const goroutines, rounds = 8, 200
	d := &fakeDriver{strength: contexts}
	db := open(t, d, config("sqlite"))
	var wait sync.WaitGroup
	for g := range goroutines {
		wait.Go(func() {
			for i := range rounds {
				for _, query := range []string{
					"INSERT INTO t1 (a) VALUES (?)", "INSERT INTO t2 (a) VALUES (?)", "INSERT INTO t1 (id, a) VALUES ('k', ?)",
					"INSERT INTO other (a) VALUES (?)", fmt.Sprintf("INSERT INTO other (a) VALUES (? + %d)", g*rounds+i),
					"SELECT a FROM t1 WHERE a = ?",
				} {
					if _, err := db.Exec(query, i); err != nil {
						t.Error(err)
						return
					}
				}
				if _, err := db.Exec("INSERT INTO t2 (a) SELECT b FROM u WHERE c = ?", i); !errors.Is(err, rewrite.ErrSelect) {
					t.Errorf("an INSERT that cannot be filled: %v", err)
				}
			}
		})
	}
	wait.Wait()
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	const all = goroutines * rounds
	s := m.Stats()
	if s.Passed != 2*all || len(s.Tables) != 2 {
		t.Errorf("%d were passed, want %d; tables %v", s.Passed, 2*all, s.Tables)
	}
	if one := s.Tables["t1"]; one.Filled != all || one.Keys != all || one.Kept != all {
		t.Errorf("t1: %+v, want %d filled and kept", one, all)
	}
	two := s.Tables["t2"]
	if refused := two.Refused[keyfill.Reason(rewrite.ErrSelect)]; two.Filled != all || two.Keys != all || refused != all {
		t.Errorf("t2: %+v, want %d filled and refused", two, all)
	}
}
