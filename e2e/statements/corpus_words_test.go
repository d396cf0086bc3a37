package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/wordplaces"
)

// corpusTries are how many texts with a word more are tried of an INSERT.
var corpusTries = map[string]int{"sqlite": 1000, "mariadb": 200, "postgres": 200}

// corpusBeside finds what an INSERT reads or leaves beside its tables: the pages of the file,
// which hold the keys, and locks of the session.
var corpusBeside = regexp.MustCompile(`(?i)sqlite_dbpage|get_lock|advisory|sleep|benchmark|load_file`)

// TestCorpusWords is the law of TestGoldenWords for INSERTs of other projects, for which
// tables can be made: with a word more that the engine takes, an INSERT that keyfill fills
// stores the rows of the plain driver, with a key in each.
func TestCorpusWords(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, harness.Without18(corpusEngines)) {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			c := readCorpus(t, e.Dialect)
			w := corpusWorded{Scratch: e.Scratch(t)}
			inserts := slices.DeleteFunc(c.inserts, func(in corpusInsert) bool {
				return !in.listed && !e.IsPostgres() // it has no place for one more column
			})
			for _, in := range sample(inserts, corpusSizes[e.Dialect.Name]) {
				if tables, ok := c.make(t, w.Scratch, in); ok && tables.keyed && !strings.ContainsAny(tables.target, " -") { // a policy has such a name in quotes
					w.insert(t, in, tables)
				}
			}
			if w.compared == 0 {
				t.Error("no text was compared")
			}
			t.Logf("%d of %d INSERTs with %d words: %d texts filled, of which the engine takes %d; %d compared",
				w.inserts, min(len(inserts), corpusSizes[e.Dialect.Name]), len(expressionWords), w.texts, w.taken, w.compared)
		})
	}
}

// corpusWorded is INSERTs of other projects with words put into them.
type corpusWorded struct {
	*harness.Scratch
	inserts, texts, taken, compared int

	tables []goldenTable // without the columns that the engine or keyfill numbers
	empty  string        // how many rows have no key
}

// insert puts words into places of an INSERT that the engine takes as it is.
func (w *corpusWorded) insert(t *testing.T, in corpusInsert, tables corpusTables) {
	t.Helper()
	target := []goldenTarget{{table: tables.target, keys: []goldenKey{{column: corpusUUID, tail: true}, {column: corpusInteger, integer: true}}}}
	if !in.listed {
		target[0].columns = append(slices.Clone(tables.columns), corpusUUID, corpusInteger)
	}
	lookup := goldenLookup(w.Dialect, target)
	p := compile.Query(w.Dialect, lookup, in.text)
	if p.Action != plans.Fill || corpusBeside.MatchString(in.text) {
		return
	}
	w.look(t, tables)
	var args []any
	took := false
	for kinds := range argChoices(p.Placeholders()) {
		args = argsOf(kinds, nil)
		if _, err := w.store(t, w.Raw, in.text, args, false); err == nil {
			took = true
			break
		}
	}
	if !took {
		return // the tables are not those that it is for
	}
	w.inserts++
	db, _ := w.OpenWith(t, goldenOptions(w.Dialect, target, false))
	defer db.Close()
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(in.id)) // it never fails
	random := rand.New(rand.NewPCG(sum.Sum64(), 32))
	places := wordplaces.Between(in.text)
	for range corpusTries[w.Dialect.Name] {
		word := expressionWords[random.IntN(len(expressionWords))]
		text := wordplaces.With(in.text, places[random.IntN(len(places))], word)
		if p := compile.Query(w.Dialect, lookup, text); p.Action == plans.Fill {
			w.texts++
			w.compare(t, db, in, text, word, args, p)
		}
	}
}

// compare compares what a text stores with and without keyfill.
func (w *corpusWorded) compare(t *testing.T, db *sql.DB, in corpusInsert, text, word string, args []any, p *plans.Plan) {
	t.Helper()
	if prepare(w.Raw, text) != nil {
		return
	}
	want, err := w.store(t, w.Raw, text, args, false)
	if err != nil {
		return
	}
	w.taken++
	if again, err := w.store(t, w.Raw, text, args, false); err != nil || again != want {
		return // it stores another row each time
	}
	got, err := w.store(t, db, text, args, true)
	if err != nil && knownOfWords(p, err) {
		return
	}
	if again, failed := w.store(t, w.Raw, text, args, false); failed != nil || again != want {
		return // what it stores depends on the time
	}
	w.compared++
	if err != nil || got != want {
		t.Errorf("%s, %s: it stores\n%s%v\nbut plain\n%s\nin: %s\nargs: %v", in.id, word, linesBeside(got, want), err, linesBeside(want, got), text, args)
	}
}

// linesBeside returns the lines of a text that another one does not have.
func linesBeside(text, other string) (lines string) {
	have := slices.Collect(strings.Lines(other))
	for line := range strings.Lines(text) {
		if i := slices.Index(have, line); i >= 0 {
			have = slices.Delete(have, i, i+1)
		} else {
			lines += line
		}
	}
	return lines
}

// look finds the columns that are compared.
func (w *corpusWorded) look(t *testing.T, made corpusTables) {
	t.Helper()
	numbered := map[string]bool{}
	if query := corpusNumbered[w.Dialect.Name]; query != "" {
		rows, err := w.Raw.Query(query)
		if err != nil {
			t.Fatal(err)
		}
		sets, err := goldenRows(rows)
		if err != nil {
			t.Fatal(err)
		}
		for _, set := range sets {
			numbered[*set[0]+"."+*set[1]] = true
		}
	}
	w.tables = goldenCatalog(t, w.Scratch)
	for i := range w.tables {
		one := &w.tables[i]
		one.columns = slices.DeleteFunc(one.columns, func(column string) bool {
			return numbered[one.name+"."+column] || one.name == made.target && (column == corpusUUID || column == corpusInteger)
		})
	}
	w.tables = slices.DeleteFunc(w.tables, func(one goldenTable) bool {
		return len(one.columns) == 0 || strings.HasPrefix(one.name, "sqlite_")
	})
	w.empty = fmt.Sprintf("SELECT count(*) FROM %s WHERE %s IS NULL OR %s IS NULL", quoted(w.Scratch, made.target), corpusUUID, corpusInteger)
}

// corpusNumbered gives the columns that an engine numbers, also after a transaction that was
// undone.
var corpusNumbered = map[string]string{
	"mariadb": "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = DATABASE() AND extra LIKE '%auto_increment%'",
	"postgres": `SELECT table_name, column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND (column_default LIKE '%nextval(%' OR is_identity = 'YES')`,
}

// store executes an INSERT in a transaction that is undone, and returns all rows. keyed asks
// that it leaves no row without a key.
func (w *corpusWorded) store(t *testing.T, db *sql.DB, query string, args []any, keyed bool) (string, error) {
	t.Helper()
	const limit = 5 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer tx.Rollback()
	before, after := 0, 0
	if err := tx.QueryRowContext(ctx, w.empty).Scan(&before); err != nil {
		return "", err
	}
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return "", err
	}
	if err := tx.QueryRowContext(ctx, w.empty).Scan(&after); err != nil {
		return "", err
	}
	var lines []string
	for _, table := range w.tables {
		var columns []string
		for _, column := range table.columns {
			columns = append(columns, w.Dialect.QuoteIdent(column))
		}
		rows, err := tx.QueryContext(ctx, "SELECT "+strings.Join(columns, ", ")+" FROM "+quoted(w.Scratch, table.name))
		if err != nil {
			return "", err
		}
		sets, err := goldenRows(rows)
		if err != nil {
			return "", err
		}
		for _, set := range sets {
			line := table.name + ":"
			for _, v := range set {
				line += " " + keyNamed(v, nil)
			}
			lines = append(lines, line+"\n")
		}
	}
	slices.Sort(lines)
	if keyed && after > before {
		lines = append(lines, fmt.Sprintf("%d rows without a key\n", after-before))
	}
	return strings.Join(lines, ""), nil
}
