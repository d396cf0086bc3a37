package keys_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// otherNames are ways to name the column id of the table t in a policy and in an
// INSERT.
func otherNames(t *testing.T, s *harness.Scratch) map[string][3]string {
	t.Helper()
	schema := "main"
	switch {
	case s.IsPostgres():
		schema = "public"
		if err := s.Raw.QueryRow("SELECT current_schema()").Scan(&schema); err != nil {
			t.Fatal(err)
		}
	case s.Server != nil:
		if err := s.Raw.QueryRow("SELECT DATABASE()").Scan(&schema); err != nil {
			t.Fatal(err)
		}
	}
	names := map[string][3]string{
		"bare":                {"t", "id", "t"},
		"schema":              {schema + ".t", "id", schema + ".t"},
		"schema, bare INSERT": {schema + ".t", "id", "t"},
		"column's case":       {"t", "ID", "t"},
		"glob":                {"t*", "id", "t"},
		"schema's glob":       {"*.t", "id", schema + ".t"},
	}
	if s.Server == nil || s.IsPostgres() {
		names["table's case"] = [3]string{"T", "Id", "T"}
		names["schema's case"] = [3]string{strings.ToUpper(schema) + ".T", "Id", "T"}
	}
	return names
}

// TestBindingNames: a second source for a column is refused however the policy and
// the INSERT of either process name it, and whatever the states are called.
func TestBindingNames(t *testing.T) {
	t.Parallel()
	kinds := map[string]policy.Source{
		"sequence":   harness.Counted(func(s *policy.Source) { s.Name = "this" }),
		"another":    harness.Counted(func(s *policy.Source) { s.Name = "other" }),
		"maxplusone": harness.Mapped(policy.KindMaxPlusOne, nil),
		"recycled":   harness.Mapped(policy.KindRecycled, func(s *policy.Source) { s.Name = "again" }),
	}
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		createForRivals(t, s)
		bare, n := [3]string{"t", "id", "t"}, 0
		for name, other := range otherNames(t, s) {
			for one, first := range kinds {
				for two, second := range kinds {
					if one == two {
						continue
					}
					names := [][3]string{bare, other}
					if n++; n%2 == 0 {
						names = [][3]string{other, bare}
					}
					makeOrEmptyTables(t, s, n%3 == 0)
					a, _ := s.Open(t, namedAs(names[0], first))
					harness.Exec(t, a, "INSERT INTO "+names[0][2]+" (p, a) VALUES (1, 1)")
					b, _ := s.Open(t, namedAs(names[1], second))
					if _, err := b.Exec("INSERT INTO " + names[1][2] + " (p, a) VALUES (1, 1)"); !errors.Is(err, keysource.ErrStoreState) {
						t.Errorf("%s (%v), then %s (%v), %s: %v", one, names[0], two, names[1], name, err)
					}
					a.Close()
					b.Close()
				}
			}
		}
	})
}

// namedAs is the policy of a source for a table and a column, under a name.
func namedAs(n [3]string, src policy.Source) *policy.Config {
	cfg := &policy.Config{Tables: map[string]policy.Table{n[0]: {Column: n[1], InPlace: &src}}}
	if schema, _, ok := strings.Cut(n[0], "."); ok && schema != "*" && !strings.Contains(n[2], ".") {
		cfg.DefaultSchema = schema
	}
	return cfg
}
