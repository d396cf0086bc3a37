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
		if version, rest, _ := strings.Cut(out.String(), "\n"); !strings.HasPrefix(version, "-- ") || !strings.ContainsAny(version, "0123456789") ||
			!strings.HasSuffix(version, " or later") || strings.Contains(rest, "or later") {
			t.Errorf("%s: the first line is %q", d.Name, version)
		}
		for _, table := range []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"} {
			if !strings.Contains(out.String(), table) {
				t.Errorf("%s: no %s", d.Name, table)
			}
		}
	}
}

// TestDDLProcedure: what is printed is what the clients of each engine take.
func TestDDLProcedure(t *testing.T) {
	for name, ends := range map[string][2]string{
		"mysql":     {"DELIMITER //\nDROP PROCEDURE IF EXISTS keyfill_reserve\n//\nCREATE PROCEDURE keyfill_reserve(", "END\n//\nDELIMITER ;\n"},
		"mariadb":   {"DELIMITER //\nDROP PROCEDURE IF EXISTS keyfill_reserve\n//\nCREATE PROCEDURE keyfill_reserve(", "END\n//\nDELIMITER ;\n"},
		"postgres":  {"CREATE OR REPLACE FUNCTION keyfill_reserve(", "END\n$$;\n"},
		"sqlserver": {"-- CREATE OR ALTER: SQL Server 2016 SP1 or later, or Azure SQL Database\nGO\nCREATE OR ALTER PROCEDURE keyfill_reserve ", "END\nGO\n"},
		"oracle":    {"CREATE OR REPLACE FUNCTION keyfill_reserve(", "END;\n/\n"},
	} {
		var plain, out, errOut strings.Builder
		if code := run(context.Background(), []string{"ddl", "--dialect", name}, nil, &plain, &errOut); code != 0 {
			t.Fatalf("%s: exit code %d: %s", name, code, errOut.String())
		}
		if code := run(context.Background(), []string{"ddl", "--procedure", "--dialect", name}, nil, &out, &errOut); code != 0 {
			t.Fatalf("%s: exit code %d: %s", name, code, errOut.String())
		}
		got, found := strings.CutPrefix(out.String(), plain.String())
		if !found || !strings.HasPrefix(got, ends[0]) || !strings.HasSuffix(got, ends[1]) {
			t.Errorf("%s: behind the tables is\n%s\nwant %q … %q", name, got, ends[0], ends[1])
		}
	}
	var out, errOut strings.Builder
	if code := run(context.Background(), []string{"ddl", "--procedure", "--dialect", "sqlite"}, nil, &out, &errOut); code != exitUsage {
		t.Errorf("sqlite: exit code %d: %s", code, errOut.String())
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
