package statements_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/txtar"
)

// goldenDir holds the golden cases of package compile: see its README.md.
const goldenDir = "../../testdata"

// goldenEngines are the engines on which golden cases are tried.
var goldenEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLMulti, harness.PgxDefault}

// goldenCase is a golden case whose INSERT is filled, or may be by its
// arguments, in the dialects that it holds in.
type goldenCase struct {
	name     string // "topic/case.dialect"
	dialects []string
	archive  *txtar.Archive
	in, out  string
	// atExecution says that an argument decides whether a key is filled.
	atExecution bool
}

// several reports whether the text may hold more than one statement.
func (c goldenCase) several() bool { return strings.Contains(strings.TrimRight(c.in, "; \n"), ";") }

// goldenCases returns the cases that have a text to send.
func goldenCases(t *testing.T) []goldenCase {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(goldenDir, "*.txtar"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no golden archives in %s: %v", goldenDir, err)
	}
	var cases []goldenCase
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		sections := map[string]string{}
		for _, f := range a.Files {
			sections[f.Name] = strings.TrimSuffix(string(f.Data), "\n")
		}
		topic := strings.TrimSuffix(filepath.Base(path), ".txtar")
		for _, f := range a.Files {
			name, isIn := strings.CutSuffix(f.Name, ".in")
			out, filled := sections[name+".out"]
			atExecution := sections[name+".keep"] == "at execution"
			if !isIn || !filled && !atExecution {
				continue
			}
			if !filled {
				out = sections[f.Name]
			}
			cases = append(cases, goldenCase{topic + "/" + name, dialectsOf(a, name), a, sections[f.Name], out, atExecution})
		}
	}
	return cases
}

// dialectsOf returns the dialects in which a case holds.
func dialectsOf(a *txtar.Archive, name string) []string {
	if _, own, ok := strings.Cut(name, "."); ok {
		return strings.Split(own, "+")
	}
	return strings.Fields(goldenLine(a, "dialects"))
}

// holdsIn reports whether a case is of a dialect.
func (c goldenCase) holdsIn(d *dialect.Dialect) bool { return slices.Contains(c.dialects, d.Name) }

// goldenLine returns what follows a word in an archive's comment.
func goldenLine(a *txtar.Archive, word string) string {
	for line := range strings.Lines(string(a.Comment)) {
		if rest, ok := strings.CutPrefix(line, word+":"); ok {
			return strings.TrimSpace(rest)
		}
	}
	return ""
}

// TestGoldenPrepares prepares the filled text of every golden case on its engine: none
// may be a syntax error, nor may it be another error if the tables are there.
func TestGoldenPrepares(t *testing.T) {
	t.Parallel()
	harness.Each(t, goldenEngines, func(t *testing.T, s *harness.Scratch) {
		goldenTables(t, s)
		if err := prepare(s.Raw, "INSERT INTO orders (id) VALUES (1) 2"); err == nil || !isSyntaxError(err) {
			t.Fatalf("a syntax error is not known as one: %v", err)
		}
		if err := prepare(s.Raw, "INSERT INTO nowhere (id) VALUES (1)"); err == nil || isSyntaxError(err) {
			t.Fatalf("a table that is not there is taken for a syntax error: %v", err)
		}
		prepared, without := 0, 0
		for _, c := range goldenCases(t) {
			if !takes(s, c) {
				continue
			}
			err := prepare(s.Raw, c.out)
			switch {
			case err == nil:
				prepared++
			case c.several() && isSyntaxError(prepare(s.Raw, c.in)):
				without++ // not even one by one: the server prepares one statement
			case isSyntaxError(err):
				t.Errorf("%s: %v\nin:  %s\nout: %s", c.name, err, c.in, c.out)
			case prepare(s.Raw, c.in) == nil:
				t.Errorf("%s: %v, but not for the original\nin:  %s\nout: %s", c.name, err, c.in, c.out)
			default:
				t.Logf("%s: neither text can be prepared: %v\nin:  %s\nout: %s", c.name, err, c.in, c.out)
				without++
			}
		}
		if prepared == 0 {
			t.Error("no case was prepared")
		}
		t.Logf("%d cases prepared, %d not for want of tables", prepared, without)
	})
}

// takes reports whether the engine is to read a case: the cases of its dialect, and on
// MariaDB the cases of MySQL that it understands.
func takes(s *harness.Scratch, c goldenCase) bool {
	if c.holdsIn(s.Dialect) {
		return true
	}
	return s.Dialect.Name == "mariadb" && slices.Contains(c.dialects, "mysql") && prepare(s.Raw, c.in) == nil
}

func prepare(db *sql.DB, query string) error {
	stmt, err := db.Prepare(query)
	if err != nil {
		return err
	}
	return stmt.Close()
}

// isSyntaxError distinguishes a syntax error from a missing table.
func isSyntaxError(err error) bool {
	var (
		my *mysql.MySQLError
		pg *pgconn.PgError
		li *sqlite.Error
	)
	switch {
	case err == nil:
		return false
	case errors.As(err, &my):
		const parse = 1064 // ER_PARSE_ERROR
		return my.Number == parse
	case errors.As(err, &pg):
		return pg.Code == "42601" // syntax_error
	case errors.As(err, &li):
		// SQLITE_ERROR is the code of all of them.
		for _, text := range []string{"syntax error", "near \"", "incomplete input", "unrecognized token"} {
			if strings.Contains(li.Error(), text) {
				return true
			}
		}
		return false
	}
	return true
}
