package statements_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/corpus"
	"github.com/keyfill/keyfill/internal/rewrite/compile"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/sqlscript"
	"github.com/keyfill/keyfill/internal/wordplaces"
	"github.com/keyfill/keyfill/rewrite"
)

// corpusVariable names the folder with the statements of other projects: "make corpus" sets
// it. Without it the tests read ownCorpus, a few statements that show that they work.
const (
	corpusVariable = "KEYFILL_CORPUS"
	ownCorpus      = "testdata/corpus"
)

// corpusEngines are the engines that the statements are tried on. Tables of one name come and
// go, so pgx keeps no plan.
var corpusEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLMulti, harness.PgxMode("exec")}

// corpusTexts are the statements of other projects in one dialect.
type corpusTexts struct {
	d       *dialect.Dialect
	inserts []corpusInsert
	creates map[string][]corpusCreate // by the table's name in lower case
}

// corpusInsert is an INSERT of another project.
type corpusInsert struct {
	id, source, text string
	table            string // as it is spelled, without quotes
	listed           bool   // it has a column list
}

// corpusCreate is a CREATE TABLE of another project.
type corpusCreate struct{ source, text string }

// readCorpus returns the statements of a dialect.
func readCorpus(t *testing.T, d *dialect.Dialect) *corpusTexts {
	t.Helper()
	folder := cmp.Or(os.Getenv(corpusVariable), ownCorpus)
	files, err := corpus.Files(folder)
	if err != nil {
		t.Fatal(err)
	}
	c := &corpusTexts{d: d, creates: map[string][]corpusCreate{}}
	for _, f := range files {
		if !slices.Contains(f.Dialects, d.Name) {
			continue
		}
		statements, err := f.Read()
		if err != nil {
			t.Fatal(err)
		}
		if f.Applications {
			statements = corpus.Of(d.Name, statements)
		}
		for _, s := range statements {
			for one, err := range sqlscript.Statements(d, strings.NewReader(s.SQL)) {
				if err != nil {
					break // it cannot be split
				}
				c.add(s, one.Text)
			}
		}
	}
	return c
}

// add notes a statement.
func (c *corpusTexts) add(s corpus.Statement, text string) {
	words := corpusWords(c.d, text)
	switch {
	case wordplaces.IsInsert(c.d, text):
		in := corpusInsert{id: s.ID, source: s.Source, text: text}
		p := compile.Query(c.d, func(_, name string) *plans.Target {
			if in.table == "" {
				in.table = name
			}
			return &plans.Target{Table: name, Keys: []plans.Key{{Column: corpusUUID}}}
		}, text)
		in.listed = p.Action != plans.Refuse || p.Refusal.Reason != rewrite.ErrNoColumnList
		if i := slices.IndexFunc(words, func(w string) bool { return strings.EqualFold(w, in.table) }); i >= 0 && p.Action != plans.Pass {
			in.table = words[i]
			c.inserts = append(c.inserts, in)
		}
	case len(words) > 2 && strings.EqualFold(words[0], "create"):
		words = words[1:]
		if strings.EqualFold(words[0], "unlogged") {
			words = words[1:]
		}
		if !strings.EqualFold(words[0], "table") {
			return
		}
		for len(words) > 1 && slices.Contains([]string{"table", "if", "not", "exists", "public"}, strings.ToLower(words[0])) {
			words = words[1:]
		}
		name := strings.ToLower(words[0])
		c.creates[name] = append(c.creates[name], corpusCreate{s.Source, text})
	}
}

// corpusWords returns the words and names of a text, without quotes.
func corpusWords(d *dialect.Dialect, text string) (words []string) {
	for at := 0; at < len(text); {
		kind, end := scan.NextToken(d, text, at)
		if kind == scan.Word || kind == scan.Quoted {
			words = append(words, strings.Trim(text[at:end], "\"`[]"))
		}
		at = end
	}
	return words
}

// sample returns so many of some INSERTs, always the same ones.
func sample(inserts []corpusInsert, most int) []corpusInsert {
	some := slices.Clone(inserts)
	rand.New(rand.NewPCG(32, 2)).Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
	return some[:min(most, len(some))]
}

// The columns that are filled in a table of a corpus.
const (
	corpusUUID    = "kf_id"
	corpusInteger = "kf_no"
)

// corpusColumns are the types of these columns, which an INSERT without a column list need
// not have: by dialect, with the column's place in such a table.
var corpusColumns = map[string][2]string{
	"mariadb":  {"char(36) INVISIBLE", "bigint INVISIBLE"},
	"postgres": {"uuid", "bigint"},
	"sqlite":   {"text", "bigint"},
}

// corpusTables are the tables that were made for an INSERT.
type corpusTables struct {
	target  string // as it is in the database
	keyed   bool   // it has the columns that are filled
	columns []string
}

var corpusEngine = regexp.MustCompile(`(?i)\bengine\s*=?\s*\w+`)

// make empties a database and makes the tables that an INSERT names, as its project's
// statements or other projects' declare them; a table that no statement declares has the
// columns that the INSERT lists. It returns false if the INSERT's table cannot be made.
func (c *corpusTexts) make(t *testing.T, s *harness.Scratch, in corpusInsert) (made corpusTables, ok bool) {
	t.Helper()
	emptyDatabase(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	creates := c.declared(in)
	for range creates { // a table may refer to one that comes later
		creates = slices.DeleteFunc(creates, func(text string) bool {
			_, err := s.Raw.ExecContext(ctx, text)
			return err == nil
		})
	}
	find := func() {
		for _, table := range goldenCatalog(t, s) {
			if name := table.name[strings.LastIndexByte(table.name, '.')+1:]; made.target == "" && strings.EqualFold(name, in.table) {
				made.target, made.columns = table.name, table.columns
			}
		}
	}
	find()
	if made.target == "" && in.listed {
		_, _ = s.Raw.ExecContext(ctx, c.guessed(in))
		find()
	}
	if made.target == "" {
		return made, false
	}
	for _, table := range goldenCatalog(t, s) {
		row := "INSERT INTO " + quoted(s, table.name) + " DEFAULT VALUES"
		if s.Dialect.Name == "mariadb" {
			row = "INSERT INTO " + quoted(s, table.name) + " () VALUES ()"
		}
		for range 2 {
			_, _ = s.Raw.ExecContext(ctx, row) // not where a column needs a value
		}
	}
	if !in.listed && s.Dialect.Name == "sqlite" {
		return made, true
	}
	made.keyed = true
	for i, column := range []string{corpusUUID, corpusInteger} {
		if _, err := s.Raw.ExecContext(ctx, "ALTER TABLE "+quoted(s, made.target)+" ADD COLUMN "+column+" "+corpusColumns[s.Dialect.Name][i]); err != nil {
			return made, false
		}
	}
	return made, true
}

// declared returns the CREATE TABLE statements for the names in an INSERT, and for the names
// in these.
func (c *corpusTexts) declared(in corpusInsert) (creates []string) {
	const most = 12
	seen := map[string]bool{}
	words := corpusWords(c.d, in.text)
	for i := 0; i < len(words) && len(creates) < most; i++ {
		name := strings.ToLower(words[i])
		all := c.creates[name]
		if seen[name] || len(all) == 0 {
			continue
		}
		seen[name] = true
		one := all[max(0, slices.IndexFunc(all, func(o corpusCreate) bool { return o.source == in.source }))]
		if strings.EqualFold(name, in.table) {
			one = fittest(c.d, all, in)
		}
		creates = append(creates, corpusEngine.ReplaceAllString(one.text, "ENGINE=InnoDB"))
		words = append(words, corpusWords(c.d, one.text)...)
	}
	return creates
}

// fittest returns the declaration of the INSERT's table that has the most of the names in
// its column list, or as many columns as its first row has values; if there are several,
// the same project's.
func fittest(d *dialect.Dialect, all []corpusCreate, in corpusInsert) (best corpusCreate) {
	most := -1
	parts := partsOf(d, in.text)
	for _, one := range all {
		n, declared := 0, partsOf(d, one.text)
		switch {
		case in.listed:
			for _, name := range parts {
				if slices.ContainsFunc(declared, func(column string) bool { return firstName(d, column) == firstName(d, name) }) {
					n += 2
				}
			}
		case len(declared) == len(parts):
			n = 2
		}
		if one.source == in.source {
			n++
		}
		if n > most {
			best, most = one, n
		}
	}
	return best
}

// firstName returns the first word of a text in lower case.
func firstName(d *dialect.Dialect, text string) string {
	words := corpusWords(d, text)
	if len(words) == 0 {
		return ""
	}
	return strings.ToLower(words[0])
}

// partsOf returns what stands between the commas of the first brackets of a text: the columns
// of a list, the values of a row, or the columns of a CREATE TABLE, without its constraints.
func partsOf(d *dialect.Dialect, text string) (parts []string) {
	begin, depth := 0, 0
	for at := 0; at < len(text); {
		_, end := scan.NextToken(d, text, at)
		sign := text[at:end]
		switch {
		case sign == "(":
			if depth++; depth == 1 {
				begin = end
			}
		case depth == 1 && (sign == "," || sign == ")"):
			part := text[begin:at]
			if !slices.Contains([]string{"primary", "key", "index", "unique", "constraint", "foreign", "check"}, firstName(d, part)) {
				parts = append(parts, part)
			}
			if begin = end; sign == ")" {
				return parts
			}
		case sign == ")":
			depth--
		}
		at = end
	}
	return parts
}

// guessed returns a table with the columns that an INSERT lists.
func (c *corpusTexts) guessed(in corpusInsert) string {
	var columns []string
	for _, part := range partsOf(c.d, in.text) {
		column := strings.TrimSpace(part)
		if c.d.Name != "sqlite" {
			column += " varchar(500)"
		}
		columns = append(columns, column)
	}
	return "CREATE TABLE " + c.d.QuoteIdent(c.d.FoldTable(in.table, false)) + " (" + strings.Join(columns, ", ") + ")"
}

// emptyDatabase drops all tables.
func emptyDatabase(t *testing.T, s *harness.Scratch) {
	t.Helper()
	conn := harness.ConnOf(t, s.Raw)
	switch s.Dialect.Name {
	case "postgres":
		harness.Must(t, conn, "DROP SCHEMA public CASCADE", "CREATE SCHEMA public")
	case "mariadb":
		harness.Must(t, conn, "SET FOREIGN_KEY_CHECKS = 0")
		fallthrough
	default:
		for _, table := range goldenCatalog(t, s) {
			if !strings.HasPrefix(table.name, "sqlite_") {
				harness.Must(t, conn, "DROP TABLE "+quoted(s, table.name))
			}
		}
	}
	if s.Dialect.Name == "mariadb" {
		harness.Must(t, conn, "SET FOREIGN_KEY_CHECKS = 1")
	}
	conn.Close()
}
