package fuzz_test

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite"

	"github.com/keyfill/keyfill/judge/checker"
	"github.com/keyfill/keyfill/judge/fuzz"
	"github.com/keyfill/keyfill/judge/parsers"
	"github.com/keyfill/keyfill/judge/trial"
)

// bench are the judges of the answers for one engine.
type bench struct {
	d      fuzz.Dialect
	courts map[string]*trial.Court // by policy
	sqlite *parsers.SQLite
	db     *sql.DB // of SQLite, with tables
}

// newBench returns a bench; without a C compiler that for PostgreSQL is skipped.
func newBench(tb testing.TB, d fuzz.Dialect) *bench {
	tb.Helper()
	b := &bench{d: d, courts: map[string]*trial.Court{}}
	for name, policy := range map[string]string{"uuids": trial.UUIDs, "integers": trial.Integers} {
		c, err := trial.New(d.String(), policy)
		if errors.Is(err, parsers.ErrNoCompiler) && os.Getenv("KEYFILL_TEST_REQUIRE") != "1" {
			tb.Skip(err)
		}
		if err != nil {
			tb.Fatal(err)
		}
		b.courts[name] = c
		tb.Cleanup(func() { _ = c.Close() })
	}
	if d == fuzz.SQLite {
		b.openSQLite(tb)
	}
	return b
}

// tables have the columns that the texts name, and the key.
var tables = []string{"t", "t1", "orders", "customers", "lines", "items", "T9"}

func (b *bench) openSQLite(tb testing.TB) {
	tb.Helper()
	var err error
	if b.sqlite, err = parsers.OpenSQLite(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = b.sqlite.Close() })
	if b.db, err = sql.Open("sqlite", ":memory:"); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = b.db.Close() })
	b.db.SetMaxOpenConns(1)
	for _, name := range tables {
		if _, err := b.db.Exec(`CREATE TABLE ` + name + ` (a, b, c, d, id, name, email, note, customer, kf_id, UNIQUE (a), UNIQUE (a, b), UNIQUE (kf_id))`); err != nil {
			tb.Fatal(err)
		}
	}
}

// longest and mostBrackets bound the texts: the parsers in C recurse without
// looking at their stack.
const (
	longest      = 4000
	mostBrackets = 200
)

// unfit reports whether a text is not for the parsers: one that could end them,
// that C reads as a shorter one, or that changes SQLite when it is prepared; or
// whether it may have a temporary table, to which no policy applies.
func unfit(query string) bool {
	lower := strings.ToLower(query)
	for _, word := range []string{"pragma", "attach", "vacuum", "temp"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	if strings.Count(lower, trial.Column) != strings.Count(query, trial.Column) {
		return true // the judges compare names without case
	}
	return len(query) > longest || strings.IndexByte(query, 0) >= 0 ||
		strings.Count(query, "(")+strings.Count(query, "[") > mostBrackets
}

// problem returns the fault of keyfill's answers to a query, which may be empty, and the
// answers.
func (b *bench) problem(query string) (problem, action string) {
	taken := b.takes(query)
	for policy, c := range b.courts {
		v := c.Try(query)
		if policy == "uuids" {
			action = v.Action
		}
		if v.Wrong != "" && b.counts(query, v.Wrong, taken) {
			return policy + ": " + v.Wrong + "; the answer: " + c.Answer(query), action
		}
		if v.Action != "fill" {
			continue
		}
		answer := c.Answer(query)
		if !taken && b.takes(answer) {
			return policy + ": the parser takes the answer and not the query: " + answer, action
		}
		if b.db != nil && b.prepare(query) == nil {
			if err := b.prepare(answer); err != nil {
				return policy + ": SQLite prepares the query and not the answer: " + err.Error() + "; the answer: " + answer, action
			}
		}
	}
	return "", action
}

// counts reports whether what a court says of an answer holds. The checker may
// read otherwise what the parser of the engine does not take at all; and what it
// says of a text for PostgreSQL comes after the parser's consent.
func (b *bench) counts(query, wrong string, taken bool) bool {
	if strings.HasPrefix(wrong, "filled, and the text is the same") && strings.Contains(strings.ToLower(query), "explain") {
		return false // the key that stands for any is the one that stood there
	}
	if !taken {
		return strings.HasPrefix(wrong, "panic") || strings.HasPrefix(wrong, "not filled")
	}
	// Places among the arguments are the checker's business too, which does not
	// see an INSERT in the WITH of a query.
	return b.sqlite != nil || !strings.HasPrefix(wrong, "checker") && !strings.Contains(wrong, " slots for ")
}

// takes reports whether the engine's parser takes a text.
func (b *bench) takes(query string) bool {
	if b.sqlite == nil {
		_, err := parsers.PostgreSQL(query)
		return err == nil
	}
	parts, err := checker.Split(b.d.String(), query)
	return err == nil && b.sqlite.Accepts(parts) == nil
}

// prepare prepares the statements of a text on tables that exist.
func (b *bench) prepare(query string) error {
	parts, err := checker.Split(b.d.String(), query)
	if err != nil {
		return err
	}
	for _, part := range parts {
		st, err := b.db.PrepareContext(context.Background(), part)
		if err != nil {
			return err
		}
		if err := st.Close(); err != nil {
			return err
		}
	}
	return nil
}

// golden returns the queries of the golden cases, whatever their dialect.
func golden(tb testing.TB) (queries []string) {
	tb.Helper()
	paths, err := filepath.Glob("../../testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no golden cases: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		var query *strings.Builder
		for line := range strings.Lines(string(text)) {
			if name, ok := strings.CutPrefix(strings.TrimSpace(line), "-- "); ok && strings.HasSuffix(name, " --") {
				if query != nil {
					queries = append(queries, strings.TrimSuffix(query.String(), "\n"))
				}
				if query = nil; strings.HasSuffix(name, ".in --") {
					query = &strings.Builder{}
				}
				continue
			}
			if query != nil {
				query.WriteString(line)
			}
		}
		if query != nil {
			queries = append(queries, strings.TrimSuffix(query.String(), "\n"))
		}
	}
	return queries
}

// differ checks the answers to any text.
func differ(f *testing.F, d fuzz.Dialect) {
	b := newBench(f, d)
	for _, query := range golden(f) {
		f.Add(query)
	}
	for i := range 200 {
		f.Add(fuzz.Text(d, choices(i)))
	}
	f.Fuzz(func(t *testing.T, query string) {
		if unfit(query) {
			return
		}
		if problem, _ := b.problem(query); problem != "" {
			t.Fatalf("%s: %q: %s", d, query, problem)
		}
	})
}

// FuzzDifferentialPostgreSQL holds the answers against PostgreSQL's own parser.
func FuzzDifferentialPostgreSQL(f *testing.F) { differ(f, fuzz.PostgreSQL) }

// FuzzDifferentialSQLite holds them against what SQLite prepares.
func FuzzDifferentialSQLite(f *testing.F) { differ(f, fuzz.SQLite) }

// FuzzDifferentialGrammar does so for both, with texts that are nearly all SQL.
func FuzzDifferentialGrammar(f *testing.F) {
	benches := []*bench{newBench(f, fuzz.PostgreSQL), newBench(f, fuzz.SQLite)}
	for i := range 400 {
		f.Add(choices(i))
	}
	f.Fuzz(func(t *testing.T, choices []byte) {
		for _, b := range benches {
			query := fuzz.Text(b.d, choices)
			if unfit(query) {
				continue
			}
			if problem, _ := b.problem(query); problem != "" {
				t.Fatalf("%s: %q: %s", b.d, query, problem)
			}
		}
	})
}

// choices returns bytes that are the same for the same number.
func choices(n int) []byte {
	b := make([]byte, 40+n%200)
	x := uint32(n)*2654435761 + 1
	for i := range b {
		x ^= x << 13
		x ^= x >> 17
		x ^= x << 5
		b[i] = byte(x >> 11)
	}
	return b
}

// TestTexts checks that the fuzzers have something to judge: that most texts
// are SQL, and that many are filled.
func TestTexts(t *testing.T) {
	for _, d := range []fuzz.Dialect{fuzz.PostgreSQL, fuzz.SQLite} {
		t.Run(d.String(), func(t *testing.T) {
			b := newBench(t, d)
			const n = 2000
			taken, prepared, actions := 0, 0, map[string]int{}
			for i := range n {
				query := fuzz.Text(d, choices(i))
				if unfit(query) {
					continue
				}
				problem, action := b.problem(query)
				if problem != "" {
					t.Errorf("%q: %s", query, problem)
				}
				actions[action]++
				if b.takes(query) {
					taken++
				}
				if b.db != nil && b.prepare(query) == nil {
					prepared++
				}
			}
			t.Logf("of %d texts the parser takes %d, SQLite prepares %d; keyfill: %v", n, taken, prepared, actions)
			if taken < n/2 || actions["fill"] < n/4 || actions["refuse"] < n/50 || actions["keep"] < n/100 ||
				b.db != nil && prepared < n/20 {
				t.Errorf("too little to judge: the parser takes %d of %d, SQLite prepares %d; keyfill: %v", taken, n, prepared, actions)
			}
		})
	}
}
