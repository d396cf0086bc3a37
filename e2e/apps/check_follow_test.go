package apps_test

import (
	"database/sql"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/policy"
)

// follow compares the class of findings with what an INSERT into the tables of a policy
// does: one fails if and only if a finding says so. Tables that are not there are left out: no
// INSERT of theirs is filled. A policy that is not opened says so itself.
func follow(t *testing.T, s *harness.Scratch, f *fault, findings []check.Finding) {
	t.Helper()
	db, cfg, err := openOwn(t, s, f.policy)
	if err != nil {
		if len(findings) == 0 {
			t.Errorf("there is no finding, and %v", err)
		}
		return
	}
	defer closes(t, db)
	var failed error
	for _, name := range slices.Sorted(maps.Keys(cfg.Tables)) {
		rule := cfg.Tables[name]
		if strings.Contains(name, "*") {
			name = f.table
		}
		missing := slices.ContainsFunc(findings, func(f check.Finding) bool {
			return (f.Rule == "no-table" || f.Rule == "table-case") && f.Table == name
		})
		if missing || strings.Contains(name, "*") {
			continue
		}
		if _, err := db.Exec(insertInto(t, s, name, rule)); err != nil {
			failed = err
		}
	}
	if is := slices.ContainsFunc(findings, isFirst); is != (failed != nil) {
		t.Errorf("before the remedy an INSERT gives %v, and the findings are %+v", failed, findings)
	}
}

// works fails a test where a policy does not open after the remedies, an INSERT into one of its
// tables fails, or a finding says that one would.
func works(t *testing.T, s *harness.Scratch, f *fault, text string, findings []check.Finding) {
	t.Helper()
	if i := slices.IndexFunc(findings, isFirst); i >= 0 {
		t.Errorf("after the remedy there is %+v", findings[i])
	}
	db, cfg, err := openOwn(t, s, text)
	if err != nil {
		t.Errorf("after the remedy: %v", err)
		return
	}
	defer closes(t, db)
	for _, name := range slices.Sorted(maps.Keys(cfg.Tables)) {
		rule := cfg.Tables[name]
		if strings.Contains(name, "*") {
			name = f.table
		}
		insert := insertInto(t, s, name, rule)
		if _, err := db.Exec(insert); err != nil {
			t.Errorf("after the remedy %s: %v", insert, err)
		}
	}
}

// openOwn opens a policy with a number of a worker that no other engine's test has: they insert
// in one process.
func openOwn(t *testing.T, s *harness.Scratch, text string) (*sql.DB, *policy.Config, error) {
	t.Helper()
	worker := slices.IndexFunc(checkEngines, func(e harness.Engine) bool { return e.Name == s.Name })
	cfg := parsed(t, strings.ReplaceAll(text, "worker: 3", "worker: "+string(rune('4'+worker))))
	db, err := keyfill.OpenDB(s.Connector, keyfill.Options{Policy: cfg})
	return db, cfg, err
}

// insertInto returns an INSERT of a row without its key, with a value for each other column
// that needs one.
func insertInto(t *testing.T, s *harness.Scratch, name string, rule policy.Table) string {
	t.Helper()
	_, bare, found := strings.Cut(name, ".")
	if !found {
		bare = name
	}
	bare = strings.Trim(bare, `"`)
	query, empty := map[string][2]string{
		"sqlite":   {`SELECT name, type FROM pragma_table_xinfo(?) WHERE "notnull" = 1 AND dflt_value IS NULL AND hidden = 0`, "DEFAULT VALUES"},
		"mariadb":  {"SELECT column_name, data_type FROM information_schema.columns WHERE table_name = ? AND table_schema = DATABASE() AND is_nullable = 'NO' AND column_default IS NULL AND extra = ''", "() VALUES ()"},
		"postgres": {"SELECT column_name, data_type FROM information_schema.columns WHERE table_name = $1 AND is_nullable = 'NO' AND column_default IS NULL AND is_identity = 'NO'", "DEFAULT VALUES"},
	}[s.Dialect.Name], ""
	rows, err := s.Raw.Query(query[0], bare)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	var columns, values []string
	for rows.Next() {
		var column, kind string
		if err := rows.Scan(&column, &kind); err != nil {
			t.Fatal(err)
		}
		isKey := column == rule.Column || slices.ContainsFunc(rule.Keys, func(k policy.Key) bool { return k.Column == column })
		if isKey {
			continue
		}
		columns = append(columns, column)
		switch kind = strings.ToLower(kind); {
		case strings.Contains(kind, "int"):
			values = append(values, "1")
		case strings.Contains(kind, "date"):
			values = append(values, "'2026-01-15'")
		default:
			values = append(values, "'x'")
		}
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	if empty = query[1]; len(columns) > 0 {
		empty = "(" + strings.Join(columns, ", ") + ") VALUES (" + strings.Join(values, ", ") + ")"
	}
	return "INSERT INTO " + name + " " + empty
}

func closes(t *testing.T, c io.Closer) {
	t.Helper()
	if err := c.Close(); err != nil {
		t.Error(err)
	}
}
