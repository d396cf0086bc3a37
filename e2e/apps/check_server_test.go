package apps_test

import (
	"crypto/rand"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/testdb"
)

const sequencePolicy = "  orders: {column: id, source: {kind: sequence}}\n"

// user is one with few rights, with the password secretWord.
type user struct {
	name string // as GRANT has it
	dsn  string
	at   check.Options
}

// newUser makes a user of a database with these rights.
func newUser(t *testing.T, s *harness.Scratch, rights ...string) user {
	t.Helper()
	name, database := "check"+strings.ToLower(rand.Text()[:10]), harness.DatabaseOf(t, s)
	u := user{name: name}
	if s.IsPostgres() {
		executeAll(t, s, "CREATE ROLE "+name+" LOGIN PASSWORD '"+secretWord+"'")
		t.Cleanup(func() { harness.Must(t, s.Raw, "DROP OWNED BY "+name, "DROP ROLE "+name) })
		to := url.URL{Scheme: "postgres", User: url.UserPassword(name, secretWord), Host: s.Server.Addr(), Path: database, RawQuery: "sslmode=disable"}
		u.dsn = to.String()
	} else {
		u.name += "@'%'"
		executeAll(t, s, "CREATE USER "+u.name+" IDENTIFIED BY '"+secretWord+"'")
		t.Cleanup(func() { harness.Must(t, s.Raw, "DROP USER "+u.name) })
		u.dsn = fmt.Sprintf("%s:%s@tcp(%s)/%s", name, secretWord, s.Server.Addr(), database)
	}
	for _, right := range rights {
		executeAll(t, s, "GRANT "+right+" TO "+u.name)
	}
	u.at.Connector = harness.ConnectorOf(t, s.Driver, u.dsn)
	return u
}

var servers = []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}

// TestRights: each right that the user lacks on keyfill's tables is found, and the
// remedy, which names the user, gives it.
func TestRights(t *testing.T) {
	t.Parallel()
	harness.Each(t, servers, func(t *testing.T, s *harness.Scratch) {
		executeAll(t, s, ownTables(s.Dialect, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)", "INSERT INTO orders VALUES (5)",
			"INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('orders.id', 9, '', '', '', 'x', CURRENT_TIMESTAMP)")...)
		all := []string{"SELECT", "INSERT", "UPDATE"}
		for _, lacks := range all {
			u := newUser(t, s, "SELECT, INSERT ON orders", strings.Join(slices.DeleteFunc(slices.Clone(all), func(r string) bool { return r == lacks }), ", ")+" ON keyfill_sequences")
			found, _ := lookWith(t, s, sequencePolicy, u.at)
			got := ruled(found, "rights")
			if len(got) != 1 || got[0].Table != "keyfill_sequences" || got[0].Line != 3 || !strings.Contains(got[0].Message, lacks) {
				t.Errorf("without %s: %+v", lacks, found)
				continue
			}
			if !got[0].IsSQL() {
				t.Errorf("the remedy is no SQL: %s", got[0].Remedy)
				continue
			}
			runScript(t, s, check.Script(found))
			if found, _ = lookWith(t, s, sequencePolicy, u.at); len(ruled(found, "rights")) != 0 {
				t.Errorf("after %s: %+v", got[0].Remedy, found)
			}
		}
	})
}

// TestRightToRead: a key column that the user may not read is found, and its remedy gives
// the right.
func TestRightToRead(t *testing.T) {
	t.Parallel()
	harness.Each(t, servers, func(t *testing.T, s *harness.Scratch) {
		executeAll(t, s, ownTables(s.Dialect, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)",
			"INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('orders.id', 9, '', '', '', 'x', CURRENT_TIMESTAMP)")...)
		u := newUser(t, s, "SELECT, INSERT, UPDATE ON keyfill_sequences", "INSERT ON orders")
		found, _ := lookWith(t, s, sequencePolicy, u.at)
		got := ruled(found, "rights")
		if len(got) != 1 || got[0].Table != "orders" || got[0].Column != "id" || got[0].Line != 3 || !got[0].IsSQL() {
			t.Fatalf("%+v", found)
		}
		runScript(t, s, check.Script(found))
		if found, _ = lookWith(t, s, sequencePolicy, u.at); len(ruled(found, "rights")) != 0 {
			t.Errorf("after %s: %+v", got[0].Remedy, found)
		}
	})
}

// TestHiddenColumn: a key column to which a user of MariaDB has no right is not shown, which
// the INSERT and the check say; the GRANT of the remedy shows it.
func TestHiddenColumn(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	executeAll(t, s, ownTables(s.Dialect, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, a INT)")...)
	u := newUser(t, s, "SELECT, INSERT, UPDATE ON keyfill_sequences", "SELECT (a), INSERT (a) ON orders")
	policy := strings.Replace(sequencePolicy, "kind: sequence", "kind: sequence, create: true", 1)
	db, _ := harness.OpenConnector(t, u.at.Connector, parsed(t, policy))
	if _, err := db.Exec("INSERT INTO orders (a) VALUES (1)"); err == nil || !strings.Contains(err.Error(), "grant this user SELECT and INSERT") {
		t.Errorf("the INSERT gives %v", err)
	}
	found, _ := lookWith(t, s, policy, u.at)
	got := ruled(found, "no-column")
	if len(got) != 1 || !isFirst(got[0]) {
		t.Fatalf("%+v", found)
	}
	_, grant, _ := strings.Cut(got[0].Remedy, "run: ")
	executeAll(t, s, grant)
	if found, _ = lookWith(t, s, policy, u.at); len(found) != 0 {
		t.Errorf("after %s: %+v", grant, found)
	}
	db, _ = harness.OpenConnector(t, u.at.Connector, parsed(t, policy))
	if _, err := db.Exec("INSERT INTO orders (a) VALUES (1)"); err != nil {
		t.Error(err)
	}
}

// TestRightToCreate: a user who may not create keyfill's tables cannot use
// ensure_schema.
func TestRightToCreate(t *testing.T) {
	t.Parallel()
	const ensured = "  orders: {column: id, source: {kind: sequence, ensure_schema: true, start: 1}}\n"
	harness.Each(t, servers, func(t *testing.T, s *harness.Scratch) {
		executeAll(t, s, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		u := newUser(t, s, "SELECT, INSERT ON orders")
		found, _ := lookWith(t, s, ensured, u.at)
		if got := ruled(found, "rights"); len(got) != 1 || got[0].Line != 3 || !strings.Contains(got[0].Message, "CREATE") {
			t.Fatalf("%+v", found)
		}
		// The first remedy: a user with the right makes the tables.
		executeAll(t, s, ownTables(s.Dialect, "GRANT SELECT, INSERT, UPDATE ON keyfill_sequences TO "+u.name)...)
		if found, _ = lookWith(t, s, ensured, u.at); len(ruled(found, "rights")) != 0 {
			t.Errorf("with the tables: %+v", found)
		}
	})
}

// TestRightToLook: a catalog that the user may not read is reported, and nothing is said
// of what is in it. Given the right, all of it is looked at.
func TestRightToLook(t *testing.T) {
	t.Parallel()
	s := harness.PgxDefault.Scratch(t)
	executeAll(t, s, ownTables(s.Dialect, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)", "CREATE TABLE parts (id BIGINT PRIMARY KEY)",
		"REVOKE SELECT ON pg_catalog.pg_constraint FROM PUBLIC")...)
	u := newUser(t, s, "SELECT, INSERT, UPDATE ON keyfill_sequences", "SELECT, INSERT ON orders")
	found, _ := lookWith(t, s, sequencePolicy, u.at)
	if len(found) != 1 || found[0].Rule != "not-looked" || found[0].Severity != check.Error || !strings.Contains(found[0].Message, "the tables could not be looked at") {
		t.Errorf("without the right: %+v", found)
	}
	executeAll(t, s, "GRANT SELECT ON pg_catalog.pg_constraint TO "+u.name)
	if found, _ = lookWith(t, s, sequencePolicy, u.at); len(ruled(found, "not-looked")) != 0 || len(ruled(found, "state-missing")) != 1 {
		t.Errorf("with the right: %+v", found)
	}
}

// TestClock: clocks that are an hour apart are found, in both directions, and equal ones
// are not.
func TestClock(t *testing.T) {
	t.Parallel()
	harness.Each(t, servers, func(t *testing.T, s *harness.Scratch) {
		executeAll(t, s, "CREATE TABLE orders (id CHAR(36) NOT NULL PRIMARY KEY)")
		for by, want := range map[time.Duration]int{-time.Hour: 1, 0: 0, time.Hour: 1} {
			found, _ := lookWith(t, s, "  orders: {column: id, source: uuidv7}\n", check.Options{Connector: s.Connector, Now: func() time.Time { return time.Now().Add(by) }})
			got := ruled(found, "clock")
			if len(got) != want || want > 0 && !strings.Contains(got[0].Message, "1h0m0s apart") {
				t.Errorf("%s apart: %+v", by, found)
			}
		}
	})
}

// TestReadOnlyServers: a server that takes no changes is found, and is not when it takes
// them again.
func TestReadOnlyServers(t *testing.T) {
	t.Parallel()
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		harness.MariaDB.Need(t)
		e := harness.MySQLDefault
		e.Server = testdb.Start(t, testdb.MariaDB())
		s := e.Scratch(t)
		executeAll(t, s, "CREATE TABLE orders (id CHAR(36) NOT NULL PRIMARY KEY)", "SET GLOBAL read_only = 1")
		wantReadOnly(t, s, true)
		executeAll(t, s, "SET GLOBAL read_only = 0") // the remedy
		wantReadOnly(t, s, false)
	})
	t.Run("pgx", func(t *testing.T) {
		t.Parallel()
		harness.PostgreSQL.Need(t)
		e := harness.PgxDefault
		e.Server = testdb.Start(t, testdb.PostgreSQL())
		s := e.Scratch(t)
		executeAll(t, s, "CREATE TABLE orders (id CHAR(36) NOT NULL PRIMARY KEY)")
		s.Raw.SetMaxIdleConns(0) // none outlives the server
		folder := harness.Text(t, s.Raw, "SELECT current_setting('data_directory')")
		e.Server.Stop(t)
		// With this file a server begins as a standby without a primary.
		if err := os.WriteFile(filepath.Join(folder, "standby.signal"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		e.Server.Restart(t)
		wantReadOnly(t, s, true)
		executeAll(t, s, "SELECT pg_promote()")
		wantReadOnly(t, s, false)
	})
}

func wantReadOnly(t *testing.T, s *harness.Scratch, want bool) {
	t.Helper()
	found, _ := look(t, s, "  orders: {column: id, source: uuidv7}\n")
	if got := ruled(found, "read-only"); (len(got) == 1 && got[0].Severity == check.Error) != want {
		t.Errorf("%+v, want a read-only server: %v", found, want)
	}
}

// TestCaseOfTables: with lower_case_table_names=1 the case of a table's name is no fault.
func TestCaseOfTables(t *testing.T) {
	t.Parallel()
	harness.MariaDB.Need(t)
	e := harness.MySQLDefault
	e.Server = testdb.Start(t, testdb.MariaDB().With("--lower-case-table-names=1"))
	s := e.Scratch(t)
	executeAll(t, s, "CREATE TABLE Orders (id CHAR(36) NOT NULL PRIMARY KEY)")
	if found, _ := look(t, s, "  ORDERS: {column: id, source: uuidv7}\n"); len(found) != 0 {
		t.Errorf("%+v", found)
	}
}

// TestGalera: a node of a cluster is reported, and a sequence of the engine that counts
// by the nodes is an error until it has INCREMENT BY 0.
func TestGalera(t *testing.T) {
	t.Parallel()
	e := harness.MySQLDefault
	e.Server = cluster.Nodes(t)[0]
	s := e.Scratch(t)
	executeAll(t, s, "CREATE SEQUENCE numbers INCREMENT BY 5 NOCACHE", "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
	const text = "  orders: {column: id, source: {kind: native, sequence: numbers, block: 1}}\ndialect: mariadb\n"
	found, _ := look(t, s, text)
	if got := ruled(found, "galera"); len(got) != 1 || got[0].Severity != check.Info || !strings.Contains(got[0].Message, "cluster of 3") {
		t.Errorf("%+v", found)
	}
	got := ruled(found, "sequence")
	if len(got) != 1 || got[0].Line != 3 || got[0].Table != "orders" || got[0].Column != "id" || !strings.Contains(got[0].Message+got[0].Remedy, "INCREMENT BY 0") {
		t.Fatalf("%+v", found)
	}
	_, statement, isThere := strings.Cut(got[0].Remedy, "run, with the number filled in: ")
	if !isThere {
		t.Fatalf("the remedy is %s", got[0].Remedy)
	}
	executeAll(t, s, strings.Replace(statement, "<a number above all keys>", "1", 1))
	if found, _ = look(t, s, text); len(ruled(found, "sequence")) != 0 {
		t.Errorf("after %s: %+v", got[0].Remedy, found)
	}
}

// TestStoreIsRefused: a store that refuses the login, has no such database or is not
// there is found on the line of its entry, without its DSN.
func TestStoreIsRefused(t *testing.T) {
	s := harness.SQLiteFile.Scratch(t)
	executeAll(t, s, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
	for _, e := range harness.ByTurns(t, servers) {
		at := e.Scratch(t)
		good := at.Server.DSN(harness.DatabaseOf(t, at))
		for name, dsn := range map[string]string{
			"login":    strings.NewReplacer("//postgres@", "//nobody:"+secretWord+"@", "root@", "nobody:"+secretWord+"@").Replace(good),
			"database": strings.Replace(good, harness.DatabaseOf(t, at), "no"+secretWord, 1),
			"port":     strings.Replace(good, at.Server.Addr(), "127.0.0.1:1", 1),
			"":         good,
		} {
			t.Run(e.Name+"/"+name, func(t *testing.T) {
				t.Setenv("STORE_DSN", dsn)
				text := fmt.Sprintf("  orders: {column: id, source: {kind: sequence, ensure_schema: true, store: far, start: 1}}\nstores:\n  far: {driver: %s, dsn_env: STORE_DSN}\n", e.Driver)
				found, _ := look(t, s, text)
				got := ruled(found, "store")
				if name == "" && len(got) == 0 {
					return // the DSN was mended
				}
				if name == "" || len(got) != 1 || got[0].Severity != check.Error || got[0].Line != 5 {
					t.Errorf("%+v", found)
				}
			})
		}
	}
}
