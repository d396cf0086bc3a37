package statements_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/uuid"
	"github.com/lib/pq"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestCopyListed: where the key column is listed, NULL and zero are filled row
// by row, and other keys stay.
func TestCopyListed(t *testing.T) {
	t.Parallel()
	harness.Each(t, pqEngines, func(t *testing.T, s *harness.Scratch) {
		for _, tt := range []struct {
			name, query string
			config      func(*policy.Config)
		}{
			{"list", pq.CopyIn("people", "n", "id", "name"), nil},
			{"no list", pq.CopyIn("people"), nil},
			{"no list, columns in the policy", pq.CopyIn("people"), func(c *policy.Config) {
				p := c.Tables["people"]
				p.Columns = []string{"n", "id", "name"}
				c.Tables["people"] = p
			}},
		} {
			t.Run(tt.name, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS people")
				harness.Exec(t, s.Raw, "CREATE TABLE people (n int, gone int, id uuid NOT NULL PRIMARY KEY, name text)")
				harness.Exec(t, s.Raw, "ALTER TABLE people DROP COLUMN gone")
				cfg := harness.FillID("people", policy.Table{})
				if tt.config != nil {
					tt.config(cfg)
				}
				db, m := s.Open(t, cfg)
				ctx, rec := keyfill.Record(context.Background())
				err := loadTx(ctx, db, tt.query, []any{1, nil, "a"}, []any{2, harness.OwnKey, "b"}, []any{3, "", "c"},
					[]any{4, uuid.UUID{}, "d"}, []any{5, uuid.Nil.String(), nil})
				if err != nil {
					t.Fatal(err)
				}
				keys := rec.Keys("people")
				if len(keys) != 4 {
					t.Fatalf("%d keys are recorded", len(keys))
				}
				for i, row := range []int{0, 2, 3, 4} {
					if k := keys[i]; k.Row != row || k.Outcome != keyfill.Stored ||
						harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE n = $1 AND id = $2", row+1, k.Key) != 1 {
						t.Errorf("key %d is of row %d, %s", i, k.Row, k.Outcome)
					}
				}
				if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE n = 2 AND id = $1 AND name = 'b'", harness.OwnKey); n != 1 {
					t.Error("the own key is not where it was")
				}
				if st := m.Stats().Tables["people"]; st.Filled != 4 || st.Keys != 4 || st.Kept != 1 {
					t.Errorf("counted %+v", st)
				}
			})
		}
	})
}

// TestCopyGenerated: a load without a column list into a table with generated
// columns, which COPY does not take, is the engine's error, and one with a list
// is filled.
//
//deviation:bulk-loads | A COPY without a column list into a table with generated columns is an error of the engine. | PostgreSQL | `pq.CopyIn("t")` | name the columns
func TestCopyGenerated(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (n int, twice int GENERATED ALWAYS AS (2 * n) STORED, id uuid NOT NULL PRIMARY KEY)")
	db, _ := s.Open(t, harness.FillID("people", policy.Table{}))
	var e *pq.Error
	if err := loadTx(context.Background(), db, pq.CopyIn("people"), []any{1, nil}); !errors.As(err, &e) || e.Code != "42P10" {
		t.Errorf("error %v, want the engine's", err)
	}
	if err := loadTx(context.Background(), db, pq.CopyIn("people", "n"), []any{1}); err != nil {
		t.Fatal(err)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE twice = 2"); n != 1 {
		t.Errorf("%d rows are stored", n)
	}
}

// TestCopyFollows: keys that a load brings advance a source that follows them.
//
//deviation:brought-keys | Keys that a COPY or a bulk load brings raise the source's numbers at the end of the load. A brought key that equals a number drawn in the same load is a duplicate-key error. | PostgreSQL, SQL Server | COPY with NULL and own keys in one column | –
func TestCopyFollows(t *testing.T) {
	t.Parallel()
	s := harness.PQDefault.Scratch(t)
	harness.Exec(t, s.Raw, "CREATE TABLE people (id bigint NOT NULL PRIMARY KEY, n int)")
	db, _ := s.Open(t, harness.FillID("people", policy.Table{InPlace: &policy.Source{Kind: policy.KindSequence, EnsureSchema: true, FollowExplicit: true}}))
	if err := loadTx(context.Background(), db, pq.CopyIn("people", "id", "n"), []any{nil, 1}, []any{5000, 2}, []any{nil, 3}); err != nil {
		t.Fatal(err)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM people WHERE n = 3 AND id > 5000"); n != 1 {
		t.Errorf("the keys are %v", harness.IntegersOf(t, s.Raw, "SELECT id FROM people ORDER BY n"))
	}
}
