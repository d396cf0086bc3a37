package keyfill_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

const (
	unlisted = "INSERT INTO t VALUES (?, NULL)"
	listed   = "INSERT INTO t (`A`, `id`) VALUES (?, ?)"
)

// describes makes a driver of MySQL answer SHOW COLUMNS.
func describes(d *fakeDriver, columns ...string) {
	d.query = func(query string, _ []driver.NamedValue) (driver.Rows, error) {
		r := &fakeRows{columns: []string{"Field", "Extra"}}
		if asksColumns(query) {
			for _, c := range columns {
				r.rows = append(r.rows, []driver.Value{c, ""})
			}
		}
		return r, nil
	}
}

func asksColumns(query string) bool { return strings.HasPrefix(query, "SHOW COLUMNS") }

// asked counts how often the driver was asked for columns.
func asked(d *fakeDriver) (n int) {
	for _, c := range d.sent() {
		if asksColumns(c.query) {
			n++
		}
	}
	return n
}

// TestColumnsAsked: a connection is asked once per checkout, and again after
// what may have changed a table.
//
//deviation:no-column-list | If a connection has prepared a statement other than INSERT, REPLACE, UPDATE, DELETE or SELECT, or was used through `keyfill.Unwrap`, keyfill asks for the columns before each INSERT without a column list. | all | `conn.Prepare("CALL p")` | `columns:`; name the columns
func TestColumnsAsked(t *testing.T) {
	ctx := context.Background()
	on := func(query string, args ...any) func(*testing.T, *sql.Conn) {
		return func(t *testing.T, c *sql.Conn) {
			if _, err := c.ExecContext(ctx, query, args...); err != nil {
				t.Fatal(err)
			}
		}
	}
	insert := on(unlisted, 1)
	prepare := func(query string) func(*testing.T, *sql.Conn) {
		return func(t *testing.T, c *sql.Conn) {
			s, err := c.PrepareContext(ctx, query)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { s.Close() })
		}
	}
	transaction := func(end func(*sql.Tx) error) func(*testing.T, *sql.Conn) {
		return func(t *testing.T, c *sql.Conn) {
			tx, err := c.BeginTx(ctx, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := end(tx); err != nil {
				t.Fatal(err)
			}
		}
	}
	raw := func(t *testing.T, c *sql.Conn) {
		if err := c.Raw(func(dc any) error { keyfill.Unwrap(dc); return nil }); err != nil {
			t.Fatal(err)
		}
	}
	query := func(t *testing.T, c *sql.Conn) {
		rows, err := c.QueryContext(ctx, "SELECT alters(t)")
		if err != nil {
			t.Fatal(err)
		}
		rows.Close()
	}
	steps := func(s ...func(*testing.T, *sql.Conn)) []func(*testing.T, *sql.Conn) { return s }
	for _, tt := range []struct {
		name  string
		steps []func(*testing.T, *sql.Conn)
		want  int
	}{
		{"once", steps(insert, insert, insert), 1},
		{"another table", steps(insert, on("INSERT INTO t2 VALUES (1, NULL)"), insert), 2},
		{"other writes", steps(insert, on("UPDATE t SET a = 1"), on("INSERT INTO u VALUES (1)"), insert), 1},
		{"prepared", steps(insert, prepare(unlisted), prepare(unlisted), insert), 1},
		{"committed", steps(insert, transaction((*sql.Tx).Commit), insert), 1},
		{"rolled back", steps(insert, transaction((*sql.Tx).Rollback), insert), 2},
		{"altered", steps(insert, on("ALTER TABLE t DROP COLUMN a"), insert, insert), 2},
		{"altered with an argument", steps(insert, on("CALL alters(?)", 1), insert, insert), 2},
		{"called", steps(insert, query, insert, insert), 2},
		{"altered later", steps(insert, prepare("ALTER TABLE t ADD COLUMN b INT"), insert, insert), 3},
		{"past keyfill", steps(insert, raw, insert, insert), 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts}
			describes(d, "A", "id")
			db := open(t, d, config("mysql"))
			c, err := db.Conn(ctx)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			for _, step := range tt.steps {
				step(t, c)
			}
			if n := asked(d); n != tt.want {
				t.Errorf("asked %d times, want %d", n, tt.want)
			}
		})
	}
}

// TestColumnsPerCheckout: what a connection was asked for ends with the
// checkout.
func TestColumnsPerCheckout(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	describes(d, "A", "id")
	db := open(t, d, config("mysql"))
	db.SetMaxOpenConns(1)
	mustExec(t, db, unlisted, 1)
	describes(d, "id", "A")
	mustExec(t, db, "INSERT INTO t VALUES (NULL, ?)", 1)
	if n := asked(d); n != 2 {
		t.Errorf("asked %d times, want 2", n)
	}
	sent := d.took("exec")
	if len(sent) != 2 || sent[0].query != listed || sent[1].query != "INSERT INTO t (`id`, `A`) VALUES (?, ?)" {
		t.Errorf("sent %v", sent)
	}
	if sent[0].args[0].Value != int64(1) || sent[1].args[1].Value != int64(1) {
		t.Errorf("arguments %v", sent)
	}
}

// TestColumnsParked: an execution whose driver answers ErrSkip keeps its keys
// for the Prepare that follows; where the columns have moved in between, its
// arguments do not fit the text and are not used.
func TestColumnsParked(t *testing.T) {
	for _, moves := range []bool{false, true} {
		d := &fakeDriver{strength: contexts, skip: true}
		n := 0
		d.query = func(query string, _ []driver.NamedValue) (driver.Rows, error) {
			r := &fakeRows{columns: []string{"Field", "Extra"}, rows: [][]driver.Value{{"A", ""}, {"id", ""}}}
			if n++; moves && n > 1 {
				r.rows[0], r.rows[1] = r.rows[1], r.rows[0]
			}
			return r, nil
		}
		cfg := config("mysql")
		db := open(t, d, cfg)
		c, err := db.Conn(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if moves {
			// From now on nothing is kept.
			if err := c.Raw(func(dc any) error { keyfill.Unwrap(dc); return nil }); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.ExecContext(context.Background(), "INSERT INTO t VALUES (NULL, ?), (?, NULL)", "x", "y"); err != nil {
			t.Fatal(err)
		}
		sent := d.took("stmtexec")
		want := "INSERT INTO t (`A`, `id`) VALUES (NULL, ?), (?, ?)"
		if moves {
			want = "INSERT INTO t (`id`, `A`) VALUES (?, ?), (?, NULL)"
		}
		if len(sent) != 1 || sent[0].query != want || len(sent[0].args) != strings.Count(want, "?") {
			t.Fatalf("moves %v: sent %v, want %q", moves, sent, want)
		}
		for i, a := range sent[0].args {
			isKey := a.Value != "x" && a.Value != "y"
			if want := moves && i == 0 || !moves && i == 2; isKey != want {
				t.Errorf("moves %v: argument %d is %v", moves, i+1, a.Value)
			}
		}
	}
}

// TestColumnsNotAsked: where they would not help, where another statement
// stands beside the INSERT, with mode off and without a server.
func TestColumnsNotAsked(t *testing.T) {
	for _, tt := range []struct {
		name, query string
		change      func(*keyfill.Options)
	}{
		{"two statements", "ALTER TABLE t ADD b INT; INSERT INTO t VALUES (1, NULL)", nil},
		{"three parts", "INSERT INTO a.b.t VALUES (1, NULL)", nil},
		{"reads the count", "INSERT INTO t VALUES (ROW_COUNT(), NULL)", nil},
		{"off", unlisted, func(c *keyfill.Options) { c.Policy.Mode = policy.ModeOff }},
		{"stood in", unlisted, func(c *keyfill.Options) {
			c.Reservers = func(string) keysource.Reserver { return nil }
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := &fakeDriver{strength: contexts}
			describes(d, "A", "id")
			cfg := keyfill.Options{Policy: config("mysql")}
			if tt.change != nil {
				tt.change(&cfg)
			}
			db := open(t, d, cfg)
			var args []any
			if strings.Contains(tt.query, "?") {
				args = []any{1}
			}
			_, err := db.Exec(tt.query, args...)
			if off := cfg.Policy.Mode == policy.ModeOff; (err == nil) != off {
				t.Errorf("error %v", err)
			}
			if n := asked(d); n != 0 {
				t.Errorf("asked %d times", n)
			}
		})
	}
}

// TestColumnsDryRun: the columns are asked for, so that what is counted is what
// would be, and the text goes out as it came.
func TestColumnsDryRun(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	describes(d, "A", "id")
	cfg := config("mysql")
	cfg.Mode = policy.ModeDryRun
	db := open(t, d, cfg)
	mustExec(t, db, unlisted, 1)
	if inserts := applications(d); len(inserts) != 1 || inserts[0] != unlisted {
		t.Errorf("sent %q", inserts)
	}
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Stats().Tables["t"]; s.Filled != 1 || s.Withheld != 1 {
		t.Errorf("counted %+v", s)
	}
	if n := asked(d); n != 1 {
		t.Errorf("asked %d times, want 1", n)
	}
}

// TestColumnsDryRunError: where the columns cannot be had, dry_run sends the text
// all the same.
func TestColumnsDryRunError(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	d.query = func(string, []driver.NamedValue) (driver.Rows, error) { return nil, errors.New("denied") }
	cfg := config("mysql")
	cfg.Mode = policy.ModeDryRun
	db := open(t, d, cfg)
	mustExec(t, db, unlisted, 1)
	if inserts := applications(d); len(inserts) != 1 || inserts[0] != unlisted {
		t.Errorf("sent %q", inserts)
	}
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	if s := m.Stats().Tables["t"]; s.Refused[keyfill.Reason(rewrite.ErrNoColumnList)] != 1 || s.Withheld != 1 {
		t.Errorf("counted %+v", s)
	}
}

// applications returns the statements that were executed but for the settings of the
// check that dry_run starts in the background.
func applications(d *fakeDriver) (queries []string) {
	for _, sent := range d.took("exec") {
		if !strings.HasPrefix(sent.query, "SET ") {
			queries = append(queries, sent.query)
		}
	}
	return queries
}

// TestColumnsErrors: the driver's error comes back as it is, one that says that
// the connection is broken is tried again; a table that is not found is the
// refusal that says what to do.
func TestColumnsErrors(t *testing.T) {
	d := &fakeDriver{strength: contexts}
	denied := errors.New("denied")
	d.query = func(string, []driver.NamedValue) (driver.Rows, error) { return nil, denied }
	db := open(t, d, config("mysql"))
	if err := second(db.Exec(unlisted, 1)); err != denied {
		t.Errorf("%v", err)
	}
	if err := second(db.Prepare(unlisted)); err != denied {
		t.Errorf("%v", err)
	}
	broken := 1
	d.query = func(query string, args []driver.NamedValue) (driver.Rows, error) {
		if broken--; broken >= 0 {
			return nil, driver.ErrBadConn
		}
		describes(d, "A", "id")
		return d.query(query, args)
	}
	mustExec(t, db, unlisted, 1)

	d = &fakeDriver{strength: contexts} // answers without rows
	db = open(t, d, config("postgres"))
	if err := second(db.Exec("INSERT INTO t VALUES (1)")); !errors.Is(err, rewrite.ErrNoColumnList) {
		t.Errorf("%v", err)
	}
	describes(d, "A", "id", "b")
	db = open(t, d, config("mysql"))
	if err := second(db.Exec(unlisted, 1)); !errors.Is(err, rewrite.ErrColumnCount) {
		t.Errorf("%v", err)
	}
	if n := len(d.took("exec")); n != 0 {
		t.Errorf("%d statements sent", n)
	}
}
