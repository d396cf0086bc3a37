package apps_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// shownKey is a row of the table in docs/layouts.md about 16 bytes in a SQL client: an engine,
// an expression for the text of the key, and a condition that finds a row.
var shownKey = regexp.MustCompile("(?m)^\\| (MariaDB|PostgreSQL|SQLite)[^|]*\\| `([^`]+)`[^|]*\\| `([^`]+)`[^|]*\\|$")

// TestReadBinary: on each engine that runs here, the expression of docs/layouts.md shows the
// text of a key of 16 bytes that keyfill has filled, and the condition finds its row.
func TestReadBinary(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "docs/", "e2e/apps/")
	page, err := os.ReadFile(filepath.Join(root, "docs", "layouts.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := shownKey.FindAllStringSubmatch(string(page), -1)
	if len(rows) != len(engines) {
		t.Fatalf("the table has %d engines, want %d", len(rows), len(engines))
	}
	for _, row := range rows {
		t.Run(row[1], func(t *testing.T) {
			name, column := map[string]string{"MariaDB": "mariadb", "PostgreSQL": "postgres", "SQLite": "sqlite"}[row[1]],
				map[string]string{"MariaDB": "BINARY(16)", "PostgreSQL": "bytea", "SQLite": "BLOB"}[row[1]]
			raw, dsn := engines[name].empty(t)
			execute(t, raw, "CREATE TABLE devices (id "+column+" PRIMARY KEY, name VARCHAR(40));\n")
			cfg, err := policy.Parse([]byte("version: 1\ntables: {devices: {column: id, source: uuidv7, layout: binary}}\n"))
			if err != nil {
				t.Fatal(err)
			}
			db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, engines[name].driver, dsn), keyfill.Options{Policy: cfg})
			ctx, rec := keyfill.Record(t.Context())
			if _, err := db.ExecContext(ctx, "INSERT INTO devices (name) VALUES ('a'), ('b')"); err != nil {
				t.Fatal(err)
			}
			key, stored := keyfill.Last[uuid.UUID](rec, "devices")
			if !stored {
				t.Fatal("no key is recorded as stored")
			}
			var shown, found string
			condition := strings.ReplaceAll(row[3], "…", key.String())
			if err := raw.QueryRow("SELECT "+row[2]+", name FROM devices WHERE "+condition).Scan(&shown, &found); err != nil {
				t.Fatal(err)
			}
			if strings.ReplaceAll(shown, "-", "") != strings.ReplaceAll(key.String(), "-", "") || found != "b" {
				t.Errorf("%s shows %s of the row %s, want %s of the row b", row[2], shown, found, key)
			}
		})
	}
}
