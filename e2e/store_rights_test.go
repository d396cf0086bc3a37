package e2e_test

import (
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// rightsKinds are the sources whose user lacks a right, and the state table of each.
var rightsKinds = []struct {
	name, table string
	source      policy.Source
	rights      []string
	draws       bool // each INSERT draws in its own transaction, and nothing is remembered
}{
	{"sequence", "keyfill_sequences", policy.Source{Kind: policy.KindSequence, Block: 1, Create: new(true), Start: 1}, []string{"SELECT", "INSERT", "UPDATE"}, false},
	{"joined", "keyfill_sequences", policy.Source{Kind: policy.KindSequence, Transaction: policy.TransactionJoined, Create: new(true), Start: 1}, []string{"SELECT", "INSERT", "UPDATE"}, true},
	{"recycled", "keyfill_series", policy.Source{Kind: policy.KindRecycled, Create: new(true), Start: 1}, []string{"SELECT", "INSERT", "UPDATE"}, false},
}

// TestStoreRights: a user who never had a right on a state table is told so by its
// first INSERT, and one who loses it by the next INSERT that needs it. Those after it
// are told without asking the store each; who is given the right goes on.
func TestStoreRights(t *testing.T) {
	for _, kind := range rightsKinds {
		for _, right := range kind.rights {
			for _, revoked := range []bool{false, true} {
				if revoked && kind.name == "recycled" {
					continue // its keys are in hand for long
				}
				t.Run(fmt.Sprintf("%s/%s/revoked=%v", kind.name, right, revoked), func(t *testing.T) {
					each(t, []engine{mysqlDefault, pgxDefault, pqDefault}, func(t *testing.T, s *scratch) {
						s.stateTables(t)
						others := []string{"SELECT, INSERT ON t", "SELECT, INSERT, UPDATE ON keyfill_workers"}
						for _, table := range []string{"keyfill_sequences", "keyfill_series"} {
							if table != kind.table {
								others = append(others, "SELECT, INSERT, UPDATE, DELETE ON "+table)
							}
						}
						for _, r := range kind.rights {
							if revoked || r != right {
								others = append(others, r+" ON "+kind.table)
							}
						}
						guest, dsn := s.guest(t, others...)
						source := kind.source
						r := s.refusable(t, dsn, &source)
						if revoked {
							must(t, r.db, r.insert)
							must(t, s.raw, fmt.Sprintf("REVOKE %s ON %s FROM %s", right, kind.table, guest))
							if right == "INSERT" {
								// The row is there: the right is not needed any more.
								must(t, r.db, r.insert, r.insert)
								return
							}
						}
						r.wantRefused(t, store.ErrRights, !kind.draws)
						must(t, s.raw, fmt.Sprintf("GRANT %s ON %s TO %s", right, kind.table, guest))
						r.wantMended(t)
					})
				})
			}
		}
	}
}

// TestStoreReadOnlyServer: a server that has become read-only for users without the
// right to pass that is told by the next INSERT, and found so when it no longer is.
func TestStoreReadOnlyServer(t *testing.T) {
	mariadb.Need(t)
	e := mysqlDefault
	e.server = testdb.Start(t, testdb.MariaDB())
	for _, kind := range rightsKinds {
		t.Run(kind.name, func(t *testing.T) {
			s := e.scratch(t)
			s.stateTables(t)
			_, dsn := s.guest(t, "SELECT, INSERT ON t", "SELECT, INSERT, UPDATE, DELETE ON keyfill_sequences", "SELECT, INSERT, UPDATE, DELETE ON keyfill_series")
			source := kind.source
			r := s.refusable(t, dsn, &source)
			if kind.draws {
				must(t, r.db, r.insert) // which opens the numbering, on a connection of keyfill's own
			}
			for range 2 {
				must(t, s.raw, "SET GLOBAL read_only = 1")
				if kind.draws { // the engine's own error, as without keyfill
					var engine *mysql.MySQLError
					if _, err := r.db.Exec(r.insert); !errors.As(err, &engine) || engine.Number != 1290 || errors.As(err, new(*keyfill.Error)) {
						t.Errorf("%v, want the engine's error 1290", err)
					}
				} else {
					r.wantRefused(t, store.ErrReadOnly, true)
				}
				must(t, s.raw, "SET GLOBAL read_only = 0")
				r.wantMended(t)
				if kind.name == "recycled" {
					break // its keys are in hand for long
				}
			}
		})
	}
}

// TestStoreReadOnlySQLite: a file that is opened for reading alone, and a connection
// that takes no changes.
func TestStoreReadOnlySQLite(t *testing.T) {
	for _, name := range []string{"sqlite", "sqlite3"} {
		for _, kind := range rightsKinds {
			t.Run(name+"/"+kind.name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "test.db")
				e := engine{name: name, driver: name, dialect: sqliteFile.dialect}
				s := &scratch{engine: e, connector: connectorOf(t, name, "file:"+path)}
				s.raw = sql.OpenDB(s.connector)
				t.Cleanup(func() { s.raw.Close() })
				s.stateTables(t)
				source := kind.source
				s.refusable(t, "file:"+path+"?mode=ro", &source).wantRefused(t, store.ErrReadOnly, false)

				r := s.refusable(t, "file:"+path, &source)
				r.db.SetMaxOpenConns(1)
				must(t, r.db, "PRAGMA query_only = 1")
				r.wantRefused(t, store.ErrReadOnly, false)
				must(t, r.db, "PRAGMA query_only = 0")
				r.wantMended(t)
			})
		}
	}
}

// TestStoreDroppedSQLite: a state table that is gone is told by the next INSERT, and
// found when it is there again.
func TestStoreDroppedSQLite(t *testing.T) {
	for _, kind := range rightsKinds[:2] { // the third has its keys in hand for long
		t.Run(kind.name, func(t *testing.T) {
			s := sqliteFile.scratch(t)
			s.stateTables(t)
			source := kind.source
			source.EnsureSchema = false
			r := s.refusable(t, "", &source)
			must(t, r.db, r.insert)
			must(t, s.raw, "DROP TABLE "+kind.table)
			r.wantRefused(t, store.ErrTables, false)
			must(t, s.raw, store.DDL(s.dialect)...)
			must(t, s.raw, "DELETE FROM t") // a numbering that begins again asks for an empty table
			r.wantMended(t)
		})
	}
}

// stateTables makes the state tables, and a table to fill.
func (s *scratch) stateTables(t *testing.T) {
	t.Helper()
	must(t, s.raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	must(t, s.raw, store.DDL(s.dialect)...)
}

// guest makes a user with these rights, and returns its name in SQL and its DSN.
func (s *scratch) guest(t *testing.T, rights ...string) (name, dsn string) {
	t.Helper()
	name = "guest" + strings.ToLower(rand.Text()[:10])
	user, database := name, databaseOf(t, s)
	if s.isPostgres() {
		must(t, s.raw, "CREATE ROLE "+name+" LOGIN PASSWORD 'pw'")
		t.Cleanup(func() { must(t, s.raw, "DROP OWNED BY "+name, "DROP ROLE "+name) })
		u := url.URL{Scheme: "postgres", User: url.UserPassword(name, "pw"), Host: s.server.Addr(), Path: database, RawQuery: "sslmode=disable"}
		dsn = u.String()
	} else {
		user += "@'%'"
		must(t, s.raw, "CREATE USER "+user+" IDENTIFIED BY 'pw'")
		t.Cleanup(func() { must(t, s.raw, "DROP USER "+user) })
		dsn = fmt.Sprintf("%s:pw@tcp(%s)/%s", name, s.server.Addr(), database)
	}
	for _, r := range rights {
		must(t, s.raw, "GRANT "+r+" TO "+user)
	}
	return user, dsn
}

// refusable is a database through keyfill whose state tables may be refused. A store
// that does not answer would be waited for longer than a test may run.
type refusable struct {
	db     *sql.DB
	insert string
	seen   *spy
}

// refusable opens the database by a DSN, "" for the scratch's own.
func (s *scratch) refusable(t *testing.T, dsn string, source *policy.Source) *refusable {
	t.Helper()
	r := &refusable{insert: "INSERT INTO t (a) VALUES (1)", seen: new(spy)}
	connector := s.connector
	if dsn != "" {
		connector = connectorOf(t, s.driver, dsn)
	}
	cfg := fillID("t", policy.Table{InPlace: source})
	cfg.StoreWait = 24 * time.Hour
	r.db, _ = openConnector(t, noting{connector, r.seen}, cfg)
	return r
}

// asked returns how many statements were about the state tables so far.
func (r *refusable) asked() int {
	n := 0
	for _, q := range r.seen.all() {
		if strings.Contains(q, "keyfill_s") {
			n++
		}
	}
	return n
}

// wantRefused runs INSERTs that are refused, each at once: one that waited would not
// come back. Where it is remembered, they ask the store once a second and not each.
func (r *refusable) wantRefused(t *testing.T, means error, remembered bool) {
	t.Helper()
	const each = 24 // statements for one attempt that has to look at all, at most; 17 were seen
	before, begun := r.asked(), time.Now()
	for i := range 100 {
		_, err := r.db.Exec(r.insert)
		if !errors.Is(err, means) || !errors.Is(err, keysource.ErrStoreState) || errors.Is(err, keysource.ErrStoreDown) || !strings.Contains(err.Error(), means.Error()) {
			t.Fatalf("INSERT %d: %v, want %v", i, err, means)
		}
		if n := r.asked() - before; i == 0 && n > each {
			t.Errorf("%d statements for the first INSERT: %q", n, r.seen.all())
		}
	}
	most := each * (2 + int(time.Since(begun)/time.Second))
	if n := r.asked() - before; remembered && n > most {
		t.Errorf("100 INSERTs have sent %d statements, want %d at most", n, most)
	}
}

// wantMended waits until an INSERT is stored.
func (r *refusable) wantMended(t *testing.T) {
	t.Helper()
	eventually(t, func() error {
		_, err := r.db.Exec(r.insert)
		return err
	})
}
