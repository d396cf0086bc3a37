package keys_test

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
	"github.com/keyfill/keyfill/e2e/internal/harness"
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

// TestStoreRights: the first INSERT of a user who never had a right on a state table is
// an error that names it; after the right is lost, so is the next INSERT that needs it.
// Later INSERTs fail without asking the store each; once the right is given, INSERTs go
// on.
func TestStoreRights(t *testing.T) {
	t.Parallel()
	for _, kind := range rightsKinds {
		for _, right := range kind.rights {
			for _, revoked := range []bool{false, true} {
				if revoked && kind.name == "recycled" {
					continue // its keys are in hand for long
				}
				t.Run(fmt.Sprintf("%s/%s/revoked=%v", kind.name, right, revoked), func(t *testing.T) {
					harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
						stateTables(t, s)
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
						guest, dsn := guest(t, s, others...)
						source := kind.source
						r := newRefusable(t, s, dsn, &source)
						if revoked {
							harness.Must(t, r.db, r.insert)
							harness.Must(t, s.Raw, fmt.Sprintf("REVOKE %s ON %s FROM %s", right, kind.table, guest))
							if right == "INSERT" {
								// The row is there: the right is not needed any more.
								harness.Must(t, r.db, r.insert, r.insert)
								return
							}
						}
						r.wantRefused(t, store.ErrRights, !kind.draws)
						harness.Must(t, s.Raw, fmt.Sprintf("GRANT %s ON %s TO %s", right, kind.table, guest))
						r.wantMended(t)
					})
				})
			}
		}
	}
}

// TestStoreReadOnlyServer: if a server has turned read-only for users without the right
// to pass that, the next INSERT says so; the end of that is noticed.
func TestStoreReadOnlyServer(t *testing.T) {
	t.Parallel()
	harness.MariaDB.Need(t)
	e := harness.MySQLDefault
	e.Server = testdb.Start(t, testdb.MariaDB())
	for _, kind := range rightsKinds {
		t.Run(kind.name, func(t *testing.T) {
			s := e.Scratch(t)
			stateTables(t, s)
			_, dsn := guest(t, s, "SELECT, INSERT ON t", "SELECT, INSERT, UPDATE, DELETE ON keyfill_sequences", "SELECT, INSERT, UPDATE, DELETE ON keyfill_series")
			source := kind.source
			r := newRefusable(t, s, dsn, &source)
			if kind.draws {
				harness.Must(t, r.db, r.insert) // which opens the numbering, on a connection of keyfill's own
			}
			for range 2 {
				harness.Must(t, s.Raw, "SET GLOBAL read_only = 1")
				if kind.draws { // the engine's own error, as without keyfill
					var engine *mysql.MySQLError
					if _, err := r.db.Exec(r.insert); !errors.As(err, &engine) || engine.Number != 1290 || errors.As(err, new(*keyfill.Error)) {
						t.Errorf("%v, want the engine's error 1290", err)
					}
				} else {
					r.wantRefused(t, store.ErrReadOnly, true)
				}
				harness.Must(t, s.Raw, "SET GLOBAL read_only = 0")
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
	t.Parallel()
	for _, name := range []string{"sqlite", "sqlite3"} {
		for _, kind := range rightsKinds {
			t.Run(name+"/"+kind.name, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "test.db")
				e := harness.Engine{Name: name, Driver: name, Dialect: harness.SQLiteFile.Dialect}
				s := &harness.Scratch{Engine: e, Connector: harness.ConnectorOf(t, name, "file:"+path)}
				s.Raw = sql.OpenDB(s.Connector)
				t.Cleanup(func() { s.Raw.Close() })
				stateTables(t, s)
				source := kind.source
				newRefusable(t, s, "file:"+path+"?mode=ro", &source).wantRefused(t, store.ErrReadOnly, false)

				r := newRefusable(t, s, "file:"+path, &source)
				r.db.SetMaxOpenConns(1)
				harness.Must(t, r.db, "PRAGMA query_only = 1")
				r.wantRefused(t, store.ErrReadOnly, false)
				harness.Must(t, r.db, "PRAGMA query_only = 0")
				r.wantMended(t)
			})
		}
	}
}

// TestStoreDroppedSQLite: if a state table is gone, the next INSERT says so; its return
// is noticed.
func TestStoreDroppedSQLite(t *testing.T) {
	t.Parallel()
	for _, kind := range rightsKinds[:2] { // the third has its keys in hand for long
		t.Run(kind.name, func(t *testing.T) {
			s := harness.SQLiteFile.Scratch(t)
			stateTables(t, s)
			source := kind.source
			source.EnsureSchema = false
			r := newRefusable(t, s, "", &source)
			harness.Must(t, r.db, r.insert)
			harness.Must(t, s.Raw, "DROP TABLE "+kind.table)
			r.wantRefused(t, store.ErrTables, false)
			harness.Must(t, s.Raw, store.DDL(s.Dialect)...)
			harness.Must(t, s.Raw, "DELETE FROM t") // a numbering that begins again asks for an empty table
			r.wantMended(t)
		})
	}
}

// stateTables makes the state tables, and a table to fill.
func stateTables(t *testing.T, s *harness.Scratch) {
	t.Helper()
	harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT NOT NULL PRIMARY KEY, a INT)")
	harness.Must(t, s.Raw, store.DDL(s.Dialect)...)
}

// guest makes a user with these rights, and returns its name in SQL and its DSN.
func guest(t *testing.T, s *harness.Scratch, rights ...string) (name, dsn string) {
	t.Helper()
	name = "guest" + strings.ToLower(rand.Text()[:10])
	user, database := name, harness.DatabaseOf(t, s)
	if s.IsPostgres() {
		harness.Must(t, s.Raw, "CREATE ROLE "+name+" LOGIN PASSWORD 'pw'")
		t.Cleanup(func() { harness.Must(t, s.Raw, "DROP OWNED BY "+name, "DROP ROLE "+name) })
		u := url.URL{Scheme: "postgres", User: url.UserPassword(name, "pw"), Host: s.Server.Addr(), Path: database, RawQuery: "sslmode=disable"}
		dsn = u.String()
	} else {
		user += "@'%'"
		harness.Must(t, s.Raw, "CREATE USER "+user+" IDENTIFIED BY 'pw'")
		t.Cleanup(func() { harness.Must(t, s.Raw, "DROP USER "+user) })
		dsn = fmt.Sprintf("%s:pw@tcp(%s)/%s", name, s.Server.Addr(), database)
	}
	for _, r := range rights {
		harness.Must(t, s.Raw, "GRANT "+r+" TO "+user)
	}
	return user, dsn
}

// refusable is a database through keyfill whose state tables may be refused. A store
// that does not answer would be waited for longer than a test may run.
type refusable struct {
	db     *sql.DB
	insert string
	seen   *harness.Spy
}

// newRefusable opens the database by a DSN; empty means the scratch's own.
func newRefusable(t *testing.T, s *harness.Scratch, dsn string, source *policy.Source) *refusable {
	t.Helper()
	r := &refusable{insert: "INSERT INTO t (a) VALUES (1)", seen: new(harness.Spy)}
	connector := s.Connector
	if dsn != "" {
		connector = harness.ConnectorOf(t, s.Driver, dsn)
	}
	cfg := harness.FillID("t", policy.Table{InPlace: source})
	cfg.StoreWait = 24 * time.Hour
	r.db, _ = harness.OpenConnector(t, harness.Noting{Connector: connector, Spy: r.seen}, cfg)
	return r
}

// asked returns how many statements were about the state tables so far.
func (r *refusable) asked() int {
	n := 0
	for _, q := range r.seen.All() {
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
			t.Errorf("%d statements for the first INSERT: %q", n, r.seen.All())
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
	harness.Eventually(t, func() error {
		_, err := r.db.Exec(r.insert)
		return err
	})
}
