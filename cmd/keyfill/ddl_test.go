package main

import (
	"context"
	"database/sql"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
)

func TestDDL(t *testing.T) {
	for _, d := range dialect.All() {
		var out, errOut strings.Builder
		if code := run(context.Background(), []string{"ddl", "--dialect", d.Name}, nil, &out, &errOut); code != 0 {
			t.Fatalf("%s: exit code %d: %s", d.Name, code, errOut.String())
		}
		for _, table := range []string{"keyfill_sequences", "keyfill_workers"} {
			if !strings.Contains(out.String(), table) {
				t.Errorf("%s: no %s", d.Name, table)
			}
		}
	}
}

// TestDDLRuns: what is printed is run as it stands, twice.
func TestDDLRuns(t *testing.T) {
	var out, errOut strings.Builder
	if code := run(context.Background(), []string{"ddl", "--dialect", "sqlite"}, nil, &out, &errOut); code != 0 {
		t.Fatal(errOut.String())
	}
	db, err := sql.Open("sqlite", filepath.Join(t.TempDir(), "test.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for range 2 {
		if _, err := db.Exec(out.String()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := db.Exec("SELECT next_value FROM keyfill_sequences"); err != nil {
		t.Error(err)
	}
}

func TestDDLDialect(t *testing.T) {
	for _, args := range [][]string{{"ddl"}, {"ddl", "--dialect", "cobol"}} {
		var out, errOut strings.Builder
		if code := run(context.Background(), args, nil, &out, &errOut); code != exitUsage {
			t.Errorf("%q: exit code %d: %s", args, code, errOut.String())
		}
	}
}
