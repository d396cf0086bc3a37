package simdb_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/txtar"
)

// TestGoldenStatements: what the store sends, as its own tests have it, is understood.
func TestGoldenStatements(t *testing.T) {
	for _, d := range []*dialect.Dialect{dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLite()} {
		db := simdb.New(d)
		for _, name := range []string{"testdata/", "series/testdata/series_", "scope/testdata/scope_"} {
			file := filepath.Join("..", "..", "store", filepath.FromSlash(name)+d.Name+".txtar")
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			n := 0
			for _, section := range archive.Files {
				if section.Name == "EnsureSchema" || strings.HasPrefix(section.Name, "what its error says") {
					continue // tables are there, and people run that
				}
				for _, text := range sent(string(section.Data)) {
					n++
					if err := db.Read(text); err != nil {
						t.Errorf("%s: %v", file, err)
					}
				}
			}
			if n < 3 {
				t.Errorf("%s has %d statements", file, n)
			}
		}
	}
}

// sent returns the statements of a section, without their arguments.
func sent(section string) (all []string) {
	for line := range strings.Lines(section) {
		line = strings.TrimSuffix(line, "\n")
		begins := strings.HasPrefix(line, "SET autocommit")
		for _, verb := range []string{"SELECT ", "UPDATE ", "INSERT ", "DELETE "} {
			begins = begins || strings.HasPrefix(line, verb)
		}
		switch {
		case begins:
			all = append(all, line)
		case strings.HasPrefix(line, "  "), line == "connect", line == "begin", line == "commit":
		default:
			all[len(all)-1] += "\n" + line
		}
	}
	return all
}

// TestUnknownStatements: what is not understood exactly is not answered.
func TestUnknownStatements(t *testing.T) {
	db := simdb.New(dialect.PostgreSQL())
	for _, text := range []string{
		"TRUNCATE keyfill_series",
		"SELECT next_value FROM keyfill_sequences ORDER BY name",
		"SELECT owner FROM keyfill_sequences",
		"SELECT now()",
		"SET search_path = ''",
		"UPDATE keyfill_series SET next_value = 1 WHERE name IS NULL",
		"UPDATE keyfill_series SET next_value = 1 WHERE NOT owner = $1",
		"UPDATE keyfill_series SET nothing = 1",
		"INSERT INTO keyfill_series (name, owner) VALUES ($1)",
		"DELETE FROM keyfill_series WHERE name LIKE 'a_b%'",
	} {
		if err := db.Read(text); err == nil || !strings.HasPrefix(err.Error(), "simdb: ") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
