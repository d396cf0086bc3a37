package statements_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// sqliteDrivers are SQLite in a file through each driver.
var sqliteDrivers = []harness.Engine{harness.SQLiteFile, harness.MattnFile}

// TestSQLiteDetach: an INSERT without a column list leaves other files as they are, so that
// one that was attached can be detached in its transaction.
func TestSQLiteDetach(t *testing.T) {
	t.Parallel()
	for _, e := range sqliteDrivers {
		for name, source := range harness.AlteredSources {
			t.Run(e.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				plain, filled := e.Scratch(t), e.Scratch(t)
				for _, s := range []*harness.Scratch{plain, filled} {
					harness.Must(t, s.Raw, "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, a INT)")
				}
				db, _ := filled.Open(t, harness.InPlace(source))
				attach := "ATTACH '" + filepath.Join(t.TempDir(), "x.db") + "' AS "
				for _, c := range []*sql.Conn{harness.ConnOf(t, plain.Raw), harness.ConnOf(t, db)} {
					for _, insert := range []string{"INSERT INTO t VALUES (NULL, 1)", "INSERT INTO main.t VALUES (NULL, 1)", "INSERT INTO t (a) VALUES (1)"} {
						harness.Must(t, c, attach+"x", "BEGIN", insert, "DETACH x", "COMMIT",
							attach+"y", insert, "DETACH y", insert, "VACUUM")
					}
				}
			})
		}
	}
}

// TestSQLiteAttachedLocked: an INSERT does not wait for another file, which another
// connection has locked.
func TestSQLiteAttachedLocked(t *testing.T) {
	t.Parallel()
	for _, e := range sqliteDrivers {
		for name, source := range harness.AlteredSources {
			t.Run(e.Name+"/"+name, func(t *testing.T) {
				t.Parallel()
				s := e.Scratch(t)
				harness.Must(t, s.Raw, "CREATE TABLE t (id INTEGER NOT NULL PRIMARY KEY, a INT)")
				file := filepath.Join(t.TempDir(), "x.db")
				other := harness.ConnOf(t, harness.Open(t, e.Driver, file))
				harness.Must(t, other, "CREATE TABLE u (a INT)")
				db, _ := s.Open(t, harness.InPlace(source))
				c := harness.ConnOf(t, db)
				harness.Must(t, c, "ATTACH '"+file+"' AS x", "PRAGMA busy_timeout = 0", "SELECT * FROM x.u")
				harness.Must(t, other, "BEGIN EXCLUSIVE")
				harness.Must(t, c, "INSERT INTO t VALUES (NULL, 1)", "INSERT INTO t (a) VALUES (1)")
				harness.Must(t, other, "COMMIT")
			})
		}
	}
}
