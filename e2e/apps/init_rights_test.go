package apps_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// TestInitWithoutCreate: keyfill init writes ensure_schema for a user who may make tables.
// For another one it says what is to be made first; when it is made, the policy of the same
// command fills the table.
func TestInitWithoutCreate(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		written := func(dsn string) string {
			t.Helper()
			file := filepath.Join(t.TempDir(), "keyfill.yaml")
			cmd := exec.Command(builtCommand(t), "init", "--driver", s.Driver, "--dsn-env", "KEYFILL_E2E_DSN", "--out", file)
			cmd.Env = append(os.Environ(), "KEYFILL_E2E_DSN="+dsn)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		owner, u := s.Server.DSN(harness.DatabaseOf(t, s)), newUser(t, s, "SELECT, INSERT ON orders")
		if text := written(owner); !strings.Contains(text, "\nensure_schema: true") {
			t.Errorf("for a user who may make tables:\n%s", text)
		}
		text := written(u.dsn)
		if strings.Contains(text, "\nensure_schema: true") || !strings.Contains(text, "keyfill ddl --dialect") || strings.Contains(text, "\n  orders:") {
			t.Errorf("for a user who may not, without keyfill's tables:\n%s", text)
		}
		executeAll(t, s, ownTables(s.Dialect)...)
		executeAll(t, s, "GRANT SELECT, INSERT, UPDATE ON keyfill_sequences TO "+u.name)
		text = written(u.dsn)
		cfg, err := policy.Parse([]byte(text))
		if err != nil || len(cfg.Tables) != 1 {
			t.Fatalf("with keyfill's tables: %v\n%s", err, text)
		}
		db, _ := harness.OpenConnector(t, u.at.Connector, cfg)
		if _, err := db.Exec("INSERT INTO orders (a) VALUES (1)"); err != nil {
			t.Errorf("%v with\n%s", err, text)
		}
	})
}
