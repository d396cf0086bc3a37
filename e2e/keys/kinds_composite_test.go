package keys_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestCompositeSpread: keys begin with a value of the execution, also where two
// processes have the same one at the same time, and hold the time in UTC.
func TestCompositeSpread(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE t (id CHAR(20) NOT NULL PRIMARY KEY, a INT)")
		cfg := harness.KeyKind{Source: harness.Mapped(policy.KindComposite, func(s *policy.Source) { s.Spread = "user" })}.Config(s.Engine)
		one, _ := s.Open(t, cfg)
		other, _ := s.Open(t, cfg)
		ctx := keyfill.WithValue(context.Background(), "user", "7")
		before := time.Now().UTC()
		for range 5 {
			for _, db := range []harness.Runner{one, other} {
				query, args := manyRows(s, 0, 3)
				if _, err := db.ExecContext(ctx, query, args...); err != nil {
					t.Fatal(err)
				}
			}
		}
		if _, err := one.ExecContext(keyfill.WithValue(ctx, "user", "42"), "INSERT INTO t (a) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		keys := harness.KeysOf(t, s.Raw, context.Background(), "SELECT id FROM t ORDER BY id")
		if len(keys) != 31 || !strings.HasPrefix(keys[0], "007") || !strings.HasPrefix(keys[30], "042") {
			t.Errorf("stored %v", keys)
		}
		if at, err := time.Parse("20060102150405", keys[0][3:17]); err != nil || at.Before(before.Add(-2*time.Second)) || at.After(time.Now().Add(3*time.Second)) {
			t.Errorf("%s holds the time %v, %v", keys[0], at, err)
		}
		for _, value := range []string{"1000", "x", "-1"} {
			_, err := one.ExecContext(keyfill.WithValue(ctx, "user", value), "INSERT INTO t (a) VALUES (1)")
			if err == nil || strings.Contains(err.Error(), value) && value == "1000" {
				t.Errorf("spread %s: %v", value, err)
			}
		}
		if _, err := one.Exec("INSERT INTO t (a) VALUES (1)"); err == nil || !strings.Contains(err.Error(), `"user"`) {
			t.Errorf("without a spread: %v", err)
		}
	})
}
