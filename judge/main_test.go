package main

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/judge/parsers"
	"github.com/keyfill/keyfill/judge/report"
)

// TestRun judges a corpus of our own: every answer is right, and the bars are
// passed.
func TestRun(t *testing.T) {
	folder := t.TempDir()
	for name, lines := range map[string]string{
		"mysql.own.jsonl": `{"id": "my-1", "sql": "INSERT INTO t (a) VALUES (1), (?) ON DUPLICATE KEY UPDATE a = ?", "kind": "insert_upsert"}
{"id": "my-2", "sql": "REPLACE t SET a = 'it''s'", "kind": "replace"}
{"id": "my-3", "sql": "INSERT INTO t VALUES (1)", "kind": "insert_no_columns"}`,
		"sqlite.own.jsonl": `{"id": "lite-1", "sql": "INSERT INTO t DEFAULT VALUES RETURNING a", "kind": "insert_returning"}
{"id": "lite-2", "sql": "INSERT INTO t (a) SELECT 1", "kind": "insert_select"}`,
		"mssql.own.jsonl":    `{"id": "ms-1", "sql": "INSERT t (a) OUTPUT inserted.a VALUES (@p1)", "kind": "insert_output"}`,
		"oracle.own.jsonl":   `{"id": "ora-1", "sql": "INSERT INTO t (a) VALUES (:1)", "kind": "insert_values"}`,
		"postgres.own.jsonl": `{"id": "pg-1", "sql": "WITH c AS (SELECT 1) INSERT INTO t (a) VALUES ($1) RETURNING a", "kind": "insert_returning"}`,
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(lines), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, by := range []string{"judge", "corpus"} {
		passed, err := run(io.Discard, &options{folder: folder, kinds: by, bars: report.Bars{Values: 100}})
		if errors.Is(err, parsers.ErrNoCompiler) && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
			t.Skip(err)
		}
		if err != nil || !passed {
			t.Errorf("run by %s = %v, %v", by, passed, err)
		}
	}
	passed, err := run(io.Discard, &options{folder: folder, dialects: "sqlite", integers: true, bars: report.Bars{Several: 100}})
	if err != nil || !passed {
		t.Errorf("run with integers = %v, %v", passed, err)
	}
	var out strings.Builder
	passed, err = run(&out, &options{folder: folder, dialects: "sqlite", speed: true})
	if err != nil || !passed || !strings.Contains(out.String(), "== sqlite: 2 texts compiled") ||
		!strings.Contains(out.String(), "== sqlite, integer keys: 2 texts compiled") {
		t.Errorf("run with speed = %v, %v:\n%s", passed, err, out.String())
	}
	if passed, err := run(io.Discard, &options{folder: folder, dialects: "klingon"}); err != nil || passed {
		t.Errorf("run of no dialect = %v, %v", passed, err)
	}
	if _, err := run(io.Discard, &options{folder: t.TempDir()}); err == nil {
		t.Error("run takes a folder without a corpus")
	}
}
