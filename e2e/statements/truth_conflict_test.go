package statements_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// conflictCases are INSERTs of which the engine may leave out rows, change
// others or store some of them and fail. %s are the VALUES rows of (code, name);
// a row of code 'dup' is there before.
var conflictCases = map[string][]string{
	"postgres": {
		"INSERT INTO people (code, name) VALUES %s",
		"INSERT INTO people (code, name) VALUES %s ON CONFLICT DO NOTHING",
		"INSERT INTO people (code, name) VALUES %s ON CONFLICT (code) DO UPDATE SET name = excluded.name",
		"INSERT INTO people (code, name) VALUES %s ON CONFLICT (code) DO UPDATE SET name = excluded.name WHERE people.name = 'none'",
	},
	"mariadb": {
		"INSERT INTO people (code, name) VALUES %s",
		"INSERT IGNORE INTO people (code, name) VALUES %s",
		"REPLACE INTO people (code, name) VALUES %s",
		"INSERT INTO people (code, name) VALUES %s ON DUPLICATE KEY UPDATE name = VALUES(name)",
		"INSERT INTO people (code, name) VALUES %s ON DUPLICATE KEY UPDATE name = name",
	},
	"sqlite": {
		"INSERT INTO people (code, name) VALUES %s",
		"INSERT OR IGNORE INTO people (code, name) VALUES %s",
		"INSERT OR REPLACE INTO people (code, name) VALUES %s",
		"REPLACE INTO people (code, name) VALUES %s",
		"INSERT OR ABORT INTO people (code, name) VALUES %s",
		"INSERT OR FAIL INTO people (code, name) VALUES %s",
		"INSERT OR ROLLBACK INTO people (code, name) VALUES %s",
		"INSERT INTO people (code, name) VALUES %s ON CONFLICT DO NOTHING",
		"INSERT INTO people (code, name) VALUES %s ON CONFLICT (code) DO UPDATE SET name = excluded.name",
		"INSERT INTO people (code, name) VALUES %s ON CONFLICT (code) DO UPDATE SET name = excluded.name WHERE name = 'none'",
	},
}

// keyUpdates are upserts whose update part sets the key.
var keyUpdates = map[string][]string{
	"postgres": {"INSERT INTO people (code, name) VALUES %s ON CONFLICT (code) DO UPDATE SET id = excluded.id"},
	"mariadb":  {"INSERT INTO people (code, name) VALUES %s ON DUPLICATE KEY UPDATE id = VALUES(id)"},
	"sqlite":   {"INSERT INTO people (code, name) VALUES %s ON CONFLICT (code) DO UPDATE SET id = excluded.id"},
}

// TestRecordNeverErrs asks of whatever the engine makes of an INSERT that a key
// which is recorded as stored is in the table, one recorded as not stored is
// not, and both hold after an error too.
func TestRecordNeverErrs(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"dup"}, {"new"}, {"new", "dup", "newer"}, {"dup", "new"}}
	testRecord(t, conflictCases, rows, "", " RETURNING id", " RETURNING name", " RETURNING id AS key_of_it, name", " RETURNING *")
}

// TestRecordOfKeyUpdates: the update part can store the key that was drawn.
func TestRecordOfKeyUpdates(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"dup"}, {"new"}, {"new", "dup", "newer"}}
	testRecord(t, keyUpdates, rows, "", " RETURNING id", " RETURNING name", " RETURNING *")
}

// TestRecordOfConflictingRows: a row can be replaced by a later one of the same
// statement.
func TestRecordOfConflictingRows(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"new", "new"}, {"dup", "dup"}}
	testRecord(t, conflictCases, rows, "", " RETURNING id", " RETURNING name", " RETURNING *")
}

// TestRecordOfAlias: a column that only has the name of the key is not the key.
func TestRecordOfAlias(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"new"}, {"dup", "new"}}
	testRecord(t, conflictCases, rows, " RETURNING name AS id", " RETURNING name id", " RETURNING id AS name, name AS id")
}

func testRecord(t *testing.T, forms map[string][]string, rows [][]string, returning ...string) {
	harness.Each(t, harness.LoadEngines, func(t *testing.T, s *harness.Scratch) {
		if s.Dialect.Name != "mariadb" {
			testRecordWith(t, s, "", forms[s.Dialect.Name], rows, returning)
			return
		}
		// In MyISAM a statement that fails keeps the rows before.
		for _, storage := range []string{"InnoDB", "MyISAM"} {
			t.Run(storage, func(t *testing.T) { testRecordWith(t, s, " ENGINE="+storage, forms[s.Dialect.Name], rows, returning) })
		}
	})
}

func testRecordWith(t *testing.T, s *harness.Scratch, storage string, forms []string, rows [][]string, returnings []string) {
	harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people")
	harness.Exec(t, s.Raw, "CREATE TABLE people (id CHAR(36) NOT NULL PRIMARY KEY, code VARCHAR(20) UNIQUE, name VARCHAR(20))"+storage)
	db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
	for _, form := range forms {
		for _, codes := range rows {
			for _, returning := range returnings {
				for _, bound := range []bool{false, true} {
					harness.Exec(t, s.Raw, "DELETE FROM people")
					harness.Exec(t, s.Raw, "INSERT INTO people (id, code, name) VALUES ('"+harness.Key+"', 'dup', 'dup')")
					var values []string
					b := s.Builder()
					for _, c := range codes {
						if bound {
							values = append(values, "("+b.Bind(c)+", "+b.Bind(c)+")")
						} else {
							values = append(values, "('"+c+"', '"+c+"')")
						}
					}
					query := fmt.Sprintf(form, strings.Join(values, ", ")) + returning
					ctx, rec := keyfill.Record(context.Background())
					var err error
					if returning == "" {
						_, err = db.ExecContext(ctx, query, b.Args...)
					} else {
						err = harness.DrainContext(ctx, db, query, b.Args...)
					}
					checkRecord(t, s, fmt.Sprintf("%s (error %v)", query, err), rec, len(codes))
				}
			}
		}
	}
}

// checkRecord compares a record with the table.
func checkRecord(t *testing.T, s *harness.Scratch, what string, rec *keyfill.Recorder, rows int) {
	t.Helper()
	keys := rec.Keys("people")
	if len(keys) != rows {
		t.Fatalf("%s: %d keys are recorded, want %d", what, len(keys), rows)
	}
	for i, k := range keys {
		id, ok := k.Key.(uuid.UUID)
		if !ok {
			t.Fatalf("%s: row %d: the key is a %T", what, i, k.Key)
		}
		stored := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE id = '"+id.String()+"'") == 1
		if k.Outcome == keyfill.Stored && !stored || k.Outcome == keyfill.NotStored && stored {
			t.Fatalf("%s: row %d is recorded as %v", what, i, k.Outcome)
		}
	}
}
