package conformance

import (
	"context"
	"database/sql"
	_ "embed" // for goldens.txtar
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/policy"
)

// goldenText is the list of the golden cases of testdata that a run executes: a section
// topic/case for each, and a section topic for the configured tables of a topic. A test
// compares the texts with testdata, and each of their words with those that it allows.
//
//go:embed goldens.txtar
var goldenText []byte

// golden is a golden case.
type golden struct {
	name, query string
	targets     []string // the lines of the configured tables: see testdata/README.md
}

// goldenTopics returns the topics that have cases for an engine.
func goldenTopics(d *dialect.Dialect) (topics []string) {
	for _, f := range txtar.Parse(goldenText).Files {
		topic, name, isCase := strings.Cut(f.Name, "/")
		if isCase && holds(name, d) && !slices.Contains(topics, topic) {
			topics = append(topics, topic)
		}
	}
	return topics
}

// holds reports whether a case has the dialect d, by the list at the end of the case's name.
func holds(name string, d *dialect.Dialect) bool {
	_, names, _ := strings.Cut(name, ".")
	return goldens.Has(strings.ReplaceAll(names, "+", " "), d)
}

// goldensOf returns the cases of a topic for an engine.
func goldensOf(topic string, d *dialect.Dialect) (all []golden) {
	var targets []string
	for _, f := range txtar.Parse(goldenText).Files {
		text := strings.TrimSuffix(string(f.Data), "\n")
		if f.Name == topic {
			targets = strings.Split(text, "\n")
		}
		if of, name, _ := strings.Cut(f.Name, "/"); of == topic && name != "" && holds(name, d) {
			all = append(all, golden{f.Name, text, targets})
		}
	}
	return all
}

// goldenTable is a table of the golden cases: a name, and its columns as engine types.
type goldenTable struct {
	name    string
	columns []string // name and type: n number, t text, l long text, d decimal, u UUID
	key     string
	more    string // further constraints
	index   string // a column with an index of its own, by which keyfill finds the greatest key
}

// goldenTables are the tables that the cases may name.
var goldenTables = []goldenTable{
	{"customers", []string{"name t", "id u", "email t", "note t"}, "id", ", UNIQUE (email)", ""},
	{"orders", []string{"id n", "customer t", "total d", "note l"}, "id", "", ""},
	{"receipts", []string{"id n", "customer t", "total d", "note l"}, "id", "", ""},
	{"order_lines", []string{"order_id n", "line_no n", "item t"}, "order_id, line_no", "", "line_no"},
	{"parts", []string{"id u", "item t", "line_no n"}, "id", "", "line_no"},
	{"stock", []string{"id u", "item t"}, "id", "", ""},
	{"shipments", []string{"id n", "customer t", "note l", "total d"}, "id", ", UNIQUE (customer)", ""},
	{"contacts", []string{"name t", "email t", "id n"}, "id", "", ""},
	{"memos", []string{"id n", "note t", "title t"}, "", "", ""},
	{"old_shipments", []string{"customer t", "note t"}, "", "", ""},
	{"old_contacts", []string{"name t", "email t", "id n"}, "", "", ""},
}

// goldenRows are the rows that are there before each case.
var goldenRows = []string{
	"INSERT INTO memos (id, note, title) VALUES (1, 'a', 'one')",
	"INSERT INTO memos (id, note, title) VALUES (2, 'b', 'two')",
	"INSERT INTO old_shipments (customer, note) VALUES ('Edsger', 'old')",
	"INSERT INTO old_shipments (customer, note) VALUES ('Barbara', 'older')",
	"INSERT INTO old_contacts (name, email, id) VALUES ('Edsger', 'e@example.org', 5)",
}

// create returns the statements that create a table.
func (t goldenTable) create(e *engine) []string {
	types := map[string]string{"n": e.number, "t": e.text, "l": e.long, "d": e.decimal, "u": e.uuid}
	keys := strings.Split(t.key, ", ")
	var columns []string
	for _, c := range t.columns {
		name, kind, _ := strings.Cut(c, " ")
		column := name + " " + types[kind]
		if slices.Contains(keys, name) {
			column += " NOT NULL"
		}
		columns = append(columns, column)
	}
	text := "CREATE TABLE " + t.name + " (" + strings.Join(columns, ", ")
	if t.key != "" {
		text += ", PRIMARY KEY (" + t.key + ")"
	}
	all := []string{text + t.more + ")"}
	if t.index != "" {
		all = append(all, "CREATE INDEX "+t.name+"_"+t.index+" ON "+t.name+" ("+t.index+")")
	}
	return all
}

// tryGoldens executes the cases of a topic, and looks for each key that was given.
func tryGoldens(ctx context.Context, r *run, topic string) (_ outcome, err error) {
	for _, t := range goldenTables {
		if err := r.exec(ctx, t.create(r.engine)...); err != nil {
			return outcome{}, err
		}
	}
	defer func() {
		for _, t := range goldenTables {
			err = errors.Join(err, r.drop(t.name))
		}
	}()
	cases := goldensOf(topic, r.target.Dialect)
	tables, err := goldenPolicy(cases[0].targets)
	if err != nil {
		return outcome{}, err
	}
	db, err := r.open(tables)
	if err != nil {
		return outcome{}, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	rows, failed, unread, first := int64(0), 0, 0, ""
	for _, c := range cases {
		if err := r.rate.wait(ctx, 1); err != nil {
			return outcome{}, err
		}
		n, seen, err := r.tryGolden(ctx, db, c)
		if ctx.Err() != nil {
			return outcome{}, ctx.Err()
		}
		if err != nil {
			if r.isUnread(ctx, c.query) {
				unread++
				continue
			}
			seen = "an error: " + seenError(err)
		}
		if seen != "" {
			fmt.Fprintf(r.options.Out, "%s: %s %v\n", c.name, seen, err)
			if failed++; failed == 1 {
				first = c.name + ": " + seen
			}
		}
		rows += n
	}
	if failed > 0 {
		return refused("%d of %d cases, such as %s", failed, len(cases), first), nil
	}
	o := shown(rows)
	if unread > 0 {
		o.seen = fmt.Sprintf("%d of %d cases are texts that this server does not take without keyfill either", unread, len(cases))
	}
	if unread == len(cases) {
		o.verdict = NotTried
	}
	return o, nil
}

// isUnread reports whether the server does not take a text as the program wrote it: an
// older version does not know MERGE, for example.
func (r *run) isUnread(ctx context.Context, query string) bool {
	stmt, err := r.db.PrepareContext(ctx, query)
	if err != nil {
		return sqlcode.Answered(err)
	}
	defer stmt.Close()
	return false // it was prepared, which is all that was asked
}

// tryGolden executes a case on emptied tables.
func (r *run) tryGolden(ctx context.Context, db *sql.DB, c golden) (stored int64, seen string, err error) {
	if err := r.resetGoldens(ctx); err != nil {
		return 0, "", err
	}
	noted, rec := keyfill.Record(ctx)
	if err := execute(noted, db, c.query, goldenArgs(c.query)); err != nil {
		return 0, "", err
	}
	for _, k := range rec.All() {
		if k.Outcome == keyfill.NotStored {
			return 0, fmt.Sprintf("a key of %s is not stored", k.Table), nil
		}
		value := k.Key
		if u, ok := value.(uuid.UUID); ok {
			value = r.target.Dialect.DefaultLayout.Value(u)
		}
		n, err := r.number(ctx, "SELECT COUNT(*) FROM "+k.Table+" WHERE "+k.Column+" = ?", value)
		if err != nil {
			return 0, "", err
		}
		if n != 1 {
			return 0, fmt.Sprintf("a key that was given is in %d rows of %s", n, k.Table), nil
		}
		stored++
	}
	if stored == 0 {
		return 0, "no key was given", nil
	}
	return stored, "", nil
}

// resetGoldens gives the tables the rows that they have before each case.
func (r *run) resetGoldens(ctx context.Context) error {
	tx, err := r.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	var statements []string
	for _, t := range goldenTables {
		statements = append(statements, "DELETE FROM "+t.name)
	}
	for _, s := range append(statements, goldenRows...) {
		if _, err := tx.ExecContext(ctx, s); err != nil {
			return errors.Join(err, tx.Rollback())
		}
	}
	const customer = "INSERT INTO customers (name, id, email, note) VALUES ('Edsger', ?, 'edsger@example.org', 'b')"
	if _, err := tx.ExecContext(ctx, r.target.bind(customer), r.target.Dialect.DefaultLayout.Value(uuid.Max)); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// returns matches what makes an INSERT give rows.
var returns = regexp.MustCompile(`(?i)\b(RETURNING|OUTPUT)\b`)

// execute executes a text, and reads the rows that it gives.
func execute(ctx context.Context, db *sql.DB, query string, args []any) (err error) {
	if !returns.MatchString(query) {
		_, err := db.ExecContext(ctx, query, args...)
		return err
	}
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	columns, err := rows.Columns()
	if err != nil {
		return err
	}
	values := make([]any, len(columns))
	for i := range values {
		values[i] = new(any)
	}
	for rows.Next() {
		if err := rows.Scan(values...); err != nil {
			return err
		}
	}
	return rows.Err()
}

// numbered matches a placeholder with a number.
var numbered = regexp.MustCompile(`(?:\$|:|@p|\?)(\d+)`)

// goldenArgs returns the arguments of a case: a text of digits for each, which fits a
// column of text and one of numbers.
func goldenArgs(query string) (args []any) {
	n := 0
	if !numbered.MatchString(query) {
		n = strings.Count(query, "?")
	}
	for _, m := range numbered.FindAllStringSubmatch(query, -1) {
		at, _ := strconv.Atoi(m[1]) // digits
		n = max(n, at)
	}
	for i := range n {
		args = append(args, strconv.Itoa(i+1))
	}
	return args
}

// goldenPolicy returns the configured tables of a topic.
func goldenPolicy(targets []string) (map[string]policy.Table, error) {
	tables := map[string]policy.Table{}
	for _, line := range targets {
		words := strings.Fields(line)
		t := policy.Table{}
		for _, w := range words[1:] {
			name, value, _ := strings.Cut(w, "=")
			switch name {
			case "key":
				column, kind, _ := strings.Cut(value, ":")
				source := &policy.Source{Kind: policy.KindUUIDv7}
				if kind != "" {
					source = &policy.Source{Kind: policy.KindSequence, Block: 10, EnsureSchema: true}
				}
				t.Keys = append(t.Keys, policy.Key{Column: column, InPlace: source})
			case "columns":
				t.Columns = strings.Split(value, ",")
			case "fill":
				for _, f := range strings.Split(value, ",") {
					t.Fill |= fills[f]
				}
			default:
				return nil, fmt.Errorf("unknown word %q of a target: correct goldens.txtar", name)
			}
		}
		tables[words[0]] = t
	}
	return tables, nil
}

// fills are the words of a target for what counts as no key.
var fills = map[string]policy.Fill{"missing": policy.FillMissing, "null": policy.FillNull, "default": policy.FillDefault, "zero": policy.FillZero}
