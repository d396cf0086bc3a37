package keyfilltest_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/DATA-DOG/go-sqlmock"
	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfilltest"
	"github.com/keyfill/keyfill/policy"
)

func config(t *testing.T, dialect string) keyfill.Options {
	t.Helper()
	cfg, err := policy.Parse([]byte(`
version: 1
dialect: ` + dialect + `
tables:
  orders:  {column: id}
  devices: {column: id, source: uuidv4, layout: binary}
`))
	if err != nil {
		t.Fatal(err)
	}
	return keyfill.Options{Policy: cfg}
}

// placeOrder is the application under test: it knows nothing of keys.
func placeOrder(ctx context.Context, db *sql.DB, customer string, amounts ...int) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	s, err := tx.PrepareContext(ctx, "INSERT INTO orders (customer, amount) VALUES ($1, $2)")
	if err != nil {
		return err
	}
	defer s.Close()
	for _, amount := range amounts {
		if _, err := s.ExecContext(ctx, customer, amount); err != nil {
			return err
		}
	}
	return tx.Commit()
}

func TestPreparedInTransaction(t *testing.T) {
	cfg := config(t, "postgres")
	db, mock := keyfilltest.New(t, cfg)
	keys := keyfilltest.Keys(t, cfg, "orders", 3)
	const filled = `INSERT INTO orders (customer, amount, "id") VALUES ($1, $2, $3)`
	mock.ExpectBegin()
	p := mock.ExpectPrepare(filled)
	for i, amount := range []int{10, 20, 30} {
		p.ExpectExec().WithArgs("x", amount, keys[i]).WillReturnResult(sqlmock.NewResult(0, 1))
	}
	mock.ExpectCommit()
	if err := placeOrder(context.Background(), db, "x", 10, 20, 30); err != nil {
		t.Fatal(err)
	}
	if err := mock.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
}

func TestExecAndQuery(t *testing.T) {
	cfg := config(t, "postgres")
	db, mock := keyfilltest.New(t, cfg)
	keys := keyfilltest.Keys(t, cfg, "orders", 3)
	id := keys[2].(string)

	mock.ExpectExec(`INSERT INTO orders (a, "id")  VALUES ($1, $3), ($2, $4)`).
		WithArgs(1, 2, keys[0], keys[1]).WillReturnResult(sqlmock.NewResult(0, 2))
	mock.ExpectQuery(`INSERT INTO orders (a, "id") VALUES ($1, $2) RETURNING id`).
		WithArgs(7, keys[2]).WillReturnRows(sqlmock.NewRows([]string{"id"}).AddRow(id))
	mock.ExpectExec("UPDATE orders SET a = 1").WillReturnResult(sqlmock.NewResult(0, 1))
	mock.ExpectClose()

	ctx, rec := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, "INSERT INTO orders (a)  VALUES ($1), ($2)", 1, 2); err != nil {
		t.Fatal(err)
	}
	var got string
	if err := db.QueryRowContext(ctx, "INSERT INTO orders (a) VALUES ($1) RETURNING id", 7).Scan(&got); err != nil || got != id {
		t.Fatalf("RETURNING gave %q, %v, want %q", got, err, id)
	}
	if _, err := db.Exec("UPDATE orders SET a = 1"); err != nil {
		t.Fatal(err)
	}
	if last, ok := keyfill.Last[uuid.UUID](rec, "orders"); !ok || last.String() != id {
		t.Errorf("Last: %v, %v, want %v", last, ok, id)
	}
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if err := mock.ExpectationsWereMet(); err != nil {
		t.Error(err)
	}
}

// TestExact: white space counts, and an unexpected text is an error.
func TestExact(t *testing.T) {
	db, mock := keyfilltest.New(t, config(t, "mysql"))
	mock.ExpectExec("INSERT INTO orders (a, `id`) VALUES (?,  ?)").WillReturnResult(sqlmock.NewResult(0, 1))
	_, err := db.Exec("INSERT INTO orders (a) VALUES (?)", 1)
	if err == nil || !strings.Contains(err.Error(), "keyfilltest: the query is") {
		t.Errorf("Exec: %v", err)
	}
}

// TestErrors of the mock come through as they are.
func TestErrors(t *testing.T) {
	broken := errors.New("broken")
	db, mock := keyfilltest.New(t, config(t, "mysql"))
	mock.ExpectExec("INSERT INTO orders (a, `id`) VALUES (?, ?)").WillReturnError(broken)
	if _, err := db.Exec("INSERT INTO orders (a) VALUES (?)", 1); err != broken {
		t.Errorf("Exec: %v", err)
	}
}

func TestAssertSQL(t *testing.T) {
	cfg := config(t, "sqlserver")
	key := keyfilltest.Keys(t, cfg, "orders", 1)[0].(string)
	keyfilltest.AssertSQL(t, cfg, "INSERT orders (a) VALUES (1)", "INSERT orders (a, [id]) VALUES (1, '"+key+"')")
	keyfilltest.AssertSQL(t, cfg, "INSERT orders (a) VALUES (@p1)", "INSERT orders (a, [id]) VALUES (@p1, @p2)")
	keyfilltest.AssertSQL(t, cfg, "DELETE orders", "DELETE orders")

	failed := &recorded{TB: t}
	keyfilltest.AssertSQL(failed, cfg, "INSERT orders (a) VALUES (1)", "INSERT orders (a) VALUES (1)")
	if !failed.failed {
		t.Error("a wrong text was not found")
	}
}

// recorded notes a failure instead of failing.
type recorded struct {
	testing.TB
	failed bool
}

func (r *recorded) Helper()               {}
func (r *recorded) Errorf(string, ...any) { r.failed = true }

// TestKeys: the same in every run, different from each other.
func TestKeys(t *testing.T) {
	cfg := config(t, "postgres")
	want := "019b76da-a800-7000-8000-000000000001"
	if got := keyfilltest.Keys(t, cfg, "orders", 2); got[0] != want || got[0] == got[1] {
		t.Errorf("Keys: %v, the first should be %s", got, want)
	}
	devices := keyfilltest.Keys(t, cfg, "devices", 2)
	if a, b := string(devices[0].([]byte)), string(devices[1].([]byte)); len(a) != 16 || a == b {
		t.Errorf("Keys of a binary column: %x", devices)
	}
}

func TestClock(t *testing.T) {
	clock := keyfilltest.NewClock(keyfilltest.Start)
	if !clock.Now().Equal(keyfilltest.Start) {
		t.Error("the clock moved")
	}
	clock.Step(-time.Hour)
	if got := clock.Now(); !got.Equal(keyfilltest.Start.Add(-time.Hour)) {
		t.Errorf("after a step the clock shows %v", got)
	}
}
