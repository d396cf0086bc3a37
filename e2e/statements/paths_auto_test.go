package statements_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	_ "github.com/keyfill/keyfill/auto/mysql"
	_ "github.com/keyfill/keyfill/auto/oracle"
	_ "github.com/keyfill/keyfill/auto/pgx"
	_ "github.com/keyfill/keyfill/auto/postgres"
	_ "github.com/keyfill/keyfill/auto/sqlite"
	_ "github.com/keyfill/keyfill/auto/sqlserver"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

const autoPolicy = `version: 1
tables:
  people: {column: id, source: uuidv7}
`

// configure writes a policy file and makes $KEYFILL_CONFIG name it.
func configure(t *testing.T, policy string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "policy.yaml")
	if err := os.WriteFile(path, []byte(policy), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEYFILL_CONFIG", path)
}

// TestAuto opens databases by the names that blank imports register, with the
// policy from the environment.
//
//deviation:wrapper | The driver has another name. | all | sqlx finds no placeholder style | `sqlx.BindDriver`
func TestAuto(t *testing.T) {
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}) {
		t.Run(e.Name, func(t *testing.T) {
			configure(t, autoPolicy)
			dsn := e.DSN(t)
			raw := harness.Open(t, e.Driver, dsn)
			harness.Exec(t, raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, name TEXT)")
			db := harness.Open(t, e.Driver+"-keyfill", dsn)
			harness.Exec(t, db, e.Placeholders("INSERT INTO people (name) VALUES (?)"), "a")
			if id := harness.Text(t, raw, "SELECT id FROM people WHERE name = 'a'"); !harness.IsKey(id) {
				t.Errorf("id = %q", id)
			}
			m, err := keyfill.From(db)
			if err != nil {
				t.Fatal(err)
			}
			if n := m.Stats().Tables["people"].Keys; n != 1 {
				t.Errorf("%d keys are counted, want 1", n)
			}
		})
	}
}

// TestAutoWithoutServer opens the drivers whose servers are not here: that is no
// I/O, and what comes next is an error of the network.
func TestAutoWithoutServer(t *testing.T) {
	configure(t, autoPolicy)
	for _, driver := range []string{"sqlserver", "oracle"} {
		t.Run(driver, func(t *testing.T) {
			db := harness.Open(t, driver+"-keyfill", harness.RefusingDSN(t, driver))
			err := db.Ping()
			if err == nil {
				t.Error("a server that is not there answers")
			}
			if _, ok := err.(*keyfill.Error); ok {
				t.Errorf("not the driver's error: %v", err)
			}
		})
	}
}

// TestAutoOtherDialect: a policy in a dialect that the driver does not speak is an error
// when the database is opened, before anything is connected.
func TestAutoOtherDialect(t *testing.T) {
	for driver, dialects := range map[string][]string{
		"pgx": {"mysql", "mariadb", "sqlite", "oracle"}, "postgres": {"mysql", "sqlserver"}, "mysql": {"postgres", "sqlite"},
		"sqlite": {"postgres", "mysql"}, "sqlserver": {"mysql"}, "oracle": {"postgres"},
	} {
		for _, dialect := range dialects {
			configure(t, "dialect: "+dialect+"\n"+autoPolicy)
			dsn := harness.RefusingDSN(t, driver)
			if driver == "mysql" {
				dsn = "user:word@tcp(127.0.0.1:1)/shop"
			}
			db, err := sql.Open(driver+"-keyfill", dsn)
			if err == nil {
				db.Close()
			}
			if err == nil || !strings.Contains(err.Error(), "the policy says dialect: "+dialect) || !strings.Contains(err.Error(), "leave dialect: out") {
				t.Errorf("dialect: %s with %s: %v", dialect, driver, err)
			}
		}
	}
}

// TestAutoNeedsAPolicy: with neither the variable nor the file, opening a
// database fails and names both places.
func TestAutoNeedsAPolicy(t *testing.T) {
	t.Setenv("KEYFILL_CONFIG", "")
	t.Chdir(t.TempDir())
	for _, driver := range []string{"mysql", "pgx", "postgres", "sqlite", "sqlserver", "oracle"} {
		db, err := sql.Open(driver+"-keyfill", "")
		if err == nil {
			db.Close()
			t.Errorf("%s: opened without a policy", driver)
			continue
		}
		if !strings.Contains(err.Error(), "KEYFILL_CONFIG") || !strings.Contains(err.Error(), "keyfill.yaml") {
			t.Errorf("%s: the error does not name both places: %v", driver, err)
		}
	}
	if err := os.WriteFile("keyfill.yaml", []byte(autoPolicy), 0o644); err != nil {
		t.Fatal(err)
	}
	db := harness.Open(t, "sqlite-keyfill", ":memory:")
	if err := db.Ping(); err != nil {
		t.Error(err)
	}
}

// TestAutoErrorsOfThePolicy come when a database is opened, with file and line.
func TestAutoErrorsOfThePolicy(t *testing.T) {
	configure(t, "version: 1\ntables:\n  people: {column: id, sauce: uuidv7}\n")
	db, err := sql.Open("sqlite-keyfill", ":memory:")
	if err == nil {
		db.Close()
		t.Fatal("opened with a wrong policy")
	}
	if !strings.Contains(err.Error(), "policy.yaml:3") {
		t.Errorf("the error does not tell file and line: %v", err)
	}
}

func init() {
	// Registered with the driver's registered value.
	sqlite.MustRegisterScalarFunction("keyfill_e2e", 1,
		func(_ *sqlite.FunctionContext, args []driver.Value) (driver.Value, error) {
			return "keyfill_e2e " + args[0].(string), nil
		})
}

// TestRegisterByName: the registered value is wrapped, with the functions that
// the program registered with it; a name is given once.
func TestRegisterByName(t *testing.T) {
	t.Parallel()
	const name = "sqlite-byname-keyfill"
	cfg := harness.FillID("people", keyCases[1].rule())
	m, err := keyfill.RegisterByName(name, "sqlite", keyfill.Options{Policy: cfg})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(sql.Drivers(), name) {
		t.Fatalf("%q is not registered", name)
	}
	if _, err := keyfill.RegisterByName(name, "sqlite", keyfill.Options{Policy: cfg}); err == nil {
		t.Error("a name is registered twice")
	}
	if _, err := keyfill.RegisterByName("nothing-keyfill", "nothing", keyfill.Options{Policy: cfg}); err == nil {
		t.Error("a driver that is not there is wrapped")
	}

	dsn := harness.SQLiteFile.DSN(t)
	db := harness.Open(t, name, dsn)
	harness.Exec(t, db, "CREATE TABLE people (id TEXT PRIMARY KEY, name TEXT)")
	harness.Exec(t, db, "INSERT INTO people (name) VALUES (keyfill_e2e(?))", "a")
	if got := harness.Text(t, db, "SELECT name FROM people"); got != "keyfill_e2e a" {
		t.Errorf("the function that is registered with the driver gave %q", got)
	}
	// The name's mount covers all databases that are opened through it.
	other := harness.Open(t, name, dsn)
	harness.Exec(t, other, "INSERT INTO people (name) VALUES ('b')")
	if n := m.Stats().Tables["people"].Keys; n != 2 {
		t.Errorf("%d keys are counted, want 2", n)
	}
	if _, err := m.Keys(context.Background(), "people", 1); err == nil {
		t.Error("Keys of a name with two databases is no error")
	}
	other.Close()
	if n := m.Stats().Tables["people"].Keys; n != 2 {
		t.Errorf("%d keys are counted after one is closed, want 2", n)
	}
	if keys, err := m.Keys(context.Background(), "people", 3); err != nil || len(keys) != 3 {
		t.Errorf("Keys = %d keys, error %v", len(keys), err)
	}
}
