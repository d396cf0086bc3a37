package statements_test

import (
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/internal/wordplaces"
)

// expressionWords are put into the golden cases: words that no engine knows, that one
// knows and others do not, and that are operators, types or clauses of an expression,
// some with what they need after them. DESC is not among them: it is EXPLAIN on MariaDB,
// see explain.
var expressionWords = []string{
	"kfnew", "kf.kfnew", "kfnew()", "kfnew (1)", `"kfnew"`,
	"COLLATE", `COLLATE "C"`, "COLLATE NOCASE", "COLLATE utf8mb4_bin", "IS", "IS NULL", "IS NOT", "ISNULL", "NOTNULL", "NOT NULL", "NOT",
	"AT", "AT TIME ZONE 'UTC'", "AT LOCAL", "ESCAPE", "ESCAPE '!'", "UESCAPE", "LIKE", "LIKE 'x'", "ILIKE", "GLOB", "MATCH", "REGEXP", "RLIKE", "SIMILAR TO",
	"OVERLAPS", "BETWEEN", "BETWEEN 1 AND", "IN", "IN (1)", "AND", "OR", "XOR", "DIV", "MOD", "SOUNDS", "SOUNDS LIKE", "MEMBER OF",
	"ARRAY", "ROW", "INTERVAL", "BINARY", "DISTINCT", "ALL", "ANY", "SOME", "UNIQUE", "EXISTS", "PRIOR", "SYMMETRIC", "VARIADIC", "LATERAL", "ONLY",
	"CASE", "END", "WHEN", "THEN", "ELSE", "CAST", "DEFAULT", "NULL", "TRUE", "VALUE", "VALUES", "SELECT", "TABLE",
	"OVER ()", "FILTER", "WITHIN", "RESPECT NULLS", "ASC", "AS", "AS kfnew", "UNION ALL SELECT", "WHERE", "LIMIT",
	"DATE", "TIME", "TIMESTAMP", "TEXT", "CHAR", "UUID", "NATIONAL", "PRECISION", "X", "N", "E", "U&", "_utf8mb4",
	"SQL_NO_CACHE", "STRAIGHT_JOIN", "HIGH_PRIORITY", "IGNORE", "TOP", "CURRENT_USER", "NEXT VALUE FOR", "OPERATOR(pg_catalog.+)",
}

// TestGoldenWords: a text with a word more that the engine takes, and that keyfill fills,
// stores what it stores with the keys by hand. What such a word means inside an expression
// is the engine's business: keyfill knows only some of them. All words take the better part
// of an hour: KEYFILL_TEST_WORDS=1 asks for them.
func TestGoldenWords(t *testing.T) {
	t.Parallel()
	all := os.Getenv("KEYFILL_TEST_WORDS") == "1"
	words := testturn.Some(t, expressionWords, len(expressionWords))
	if !all {
		words = words[:1]
	}
	for _, e := range harness.ByTurns(t, harness.Without18(goldenEngines)) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			var cases []goldenCase
			for _, c := range goldenCases(t) {
				if c.holdsIn(e.Dialect) && c.notHere() == "" && notExecutable[c.name] == "" && notFilled[c.name] == "" && !c.several() {
					cases = append(cases, c)
				}
			}
			j, _ := newJudges(t, e, cases)
			defer j.close()
			w := worded{judge: j, all: j.tables}
			for _, c := range testturn.Some(t, cases, 2) {
				w.insert(t, c, words)
			}
			if w.compared == 0 && all && !testturn.Enabled(t) {
				t.Error("no text was compared")
			}
			t.Logf("%q: %d texts filled, of which the engine takes %d; %d compared", words, w.texts, w.taken, w.compared)
		})
	}
}

// worded is golden cases with words put into them.
type worded struct {
	*judge
	all                    []goldenTable
	texts, taken, compared int
}

// insert puts words into all places of a case.
func (w *worded) insert(t *testing.T, c goldenCase, words []string) {
	t.Helper()
	w.open(t, c)
	w.look(c)
	lookup := goldenLookup(w.hand.Dialect, w.targets)
	var kinds []argKind
	for _, word := range words {
		for _, at := range wordplaces.Between(c.in) {
			changed := c
			changed.in = wordplaces.With(c.in, at, word)
			p := compile.Query(w.hand.Dialect, lookup, changed.in)
			if p.Action != plans.Fill && !p.AtExecution {
				continue
			}
			w.texts++
			if prepare(w.hand.Raw, changed.in) != nil {
				continue
			}
			if kinds == nil {
				var err error
				if kinds, _, err = w.choose(c); err != nil {
					t.Errorf("%s: %v", c.name, err)
					return
				}
			}
			args := argsOf(kinds, c.names())
			want, err := w.byHand(changed, args)
			if err != nil {
				continue
			}
			w.taken++
			w.vacuum(t)
			got, err := w.fill(changed, args, goldenWay{"direct", w.off, false})
			if err != nil && knownOfWords(p, err) {
				continue
			}
			w.compared++
			got, want = got.unordered(), want.unordered()
			got.returned, want.returned = nil, nil
			w.report(t, changed, word, args, want, got, err)
		}
	}
}

// look has only the tables of a case looked at, without their keys: another test checks
// keys that the text brings by an expression.
func (w *worded) look(c goldenCase) {
	var tables []goldenTable
	for _, table := range w.all {
		name := table.name[strings.LastIndexByte(table.name, '.')+1:]
		if !strings.Contains(strings.ToLower(c.in), strings.ToLower(name)) {
			continue
		}
		table.columns = slices.DeleteFunc(slices.Clone(table.columns), func(column string) bool {
			return slices.ContainsFunc(w.targets, func(g goldenTarget) bool {
				return g.table == table.name && slices.ContainsFunc(g.keys, func(k goldenKey) bool { return k.column == column })
			})
		})
		tables = append(tables, table)
	}
	w.dumpHand, w.dumpFilled = dumpQuery(w.hand, tables), dumpQuery(w.filled, tables)
}

// vacuum removes the rows of transactions that were undone, which PostgreSQL reads again
// and again.
func (w *worded) vacuum(t *testing.T) {
	t.Helper()
	const each = 300 // texts
	if w.hand.IsPostgres() && w.taken%each == 0 {
		harness.Exec(t, w.hand.Raw, "VACUUM")
		harness.Exec(t, w.filled.Raw, "VACUUM")
	}
}

// knownOfWords reports whether a text that is executed by hand may be an error with keyfill: one
// of its own, or one that docs/deviations.md names.
func knownOfWords(p *plans.Plan, err error) bool {
	var own *keyfill.Error
	if errors.As(err, &own) {
		return true
	}
	var (
		my *mysql.MySQLError
		pg *pgconn.PgError

		numbered   = slices.ContainsFunc(p.Inserts, func(in plans.Insert) bool { return in.Query != nil })
		null, keys = false, 0
	)
	for _, in := range p.Inserts {
		keys += max(in.Rows, 1) * len(in.Target.Keys)
	}
	switch {
	case errors.As(err, &my):
		const badNull, truncated = 1048, 1292 // ER_BAD_NULL_ERROR, ER_TRUNCATED_WRONG_VALUE
		if my.Number == truncated && numbered {
			return true // a warning by hand, since nothing is numbered in a temporary table there
		}
		null = my.Number == badNull
	case errors.As(err, &pg):
		null = pg.Code == "23502" // not_null_violation
	case strings.Contains(err.Error(), "no such collation sequence"):
		return numbered
	default:
		null = strings.Contains(err.Error(), "NOT NULL constraint failed")
	}
	// An expression in the key's place that is NULL is filled by the triggers alone.
	return null && len(bind.Places(p, false)) < keys
}
