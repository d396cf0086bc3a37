// Package trial gives queries to keyfill and its answers to the judges.
package trial

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/judge/checker"
	"github.com/keyfill/keyfill/judge/parsers"
	"github.com/keyfill/keyfill/judge/tree"
	"github.com/keyfill/keyfill/policy"
)

// Column is the key column of every table in a trial.
const Column = "kf_id"

// The policies of trials: a UUID, and an integer that the engine can count up, for INSERT …
// SELECT.
const (
	UUIDs    = "version: 1\ntables:\n  \"*\": {column: " + Column + "}\n"
	Integers = "version: 1\ntables:\n  \"*\": {column: " + Column + ", source: {kind: sequence}}\n"
)

// Explain returns keyfill's answer about a query, as the method of explain.Explainer does.
type Explain func(query string) (explain.Explanation, error)

// Court judges keyfill's answers in one dialect. It is not safe for concurrent
// use.
type Court struct {
	dialect string
	explain Explain
	parse   func(query string) (*tree.Text, error) // the engine's parser; nil if there is none
	sqlite  *parsers.SQLite                        // nil elsewhere
}

// New returns a court for a dialect and one of the policies.
func New(dialectName, policyText string) (*Court, error) {
	d, err := dialect.ByName(dialectName)
	if err != nil {
		return nil, err
	}
	cfg, err := policy.Parse([]byte(policyText))
	if err != nil {
		return nil, err
	}
	cfg.Dialect = d.Name
	c, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: cfg})
	if err != nil {
		return nil, err
	}
	return NewWith(dialectName, explain.By(c).Explain)
}

// NewWith returns a court for a dialect and the answers of explain.
func NewWith(dialectName string, explain Explain) (*Court, error) {
	c := &Court{dialect: dialectName, explain: explain}
	switch dialectName {
	case "postgres":
		if !parsers.HasPostgreSQL {
			return nil, parsers.ErrNoCompiler
		}
		c.parse = parsers.PostgreSQL
	case "mysql", "mariadb":
		c.parse = parsers.MySQL
	case "sqlserver":
		c.parse = parsers.SQLServer
	case "sqlite":
		var err error
		if c.sqlite, err = parsers.OpenSQLite(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Close closes the database of the court.
func (c *Court) Close() error {
	if c.sqlite != nil {
		return c.sqlite.Close()
	}
	return nil
}

// Judge is the name of the judge that has judged a text.
type Judge string

// The judges.
const (
	Parser  Judge = "parser"  // the engine's own parser, or the nearest to it
	Checker Judge = "checker" // only package checker: there is no parser, or it does not accept the text
	Nobody  Judge = "nobody"  // the engine's own parser says that the text is not SQL
)

// Verdict is the result for one query.
type Verdict struct {
	Judge  Judge
	Kind   tree.Kind
	Action string // keyfill's action: fill, keep, pass or refuse
	Reason Reason // for refuse
	Wrong  string // the fault in keyfill's answer; empty if there is none
	Missed bool   // whether keyfill refused or changed the text without need
	Apart  bool   // whether the text may not be SQL to the engine: it need not be filled, but the answer must not be wrong
	// Excused reports whether an INSERT … SELECT is rightly refused, since no key can be
	// numbered into it, or the INSERTs are into temporary tables.
	Excused bool
	Took    time.Duration // how long keyfill took to answer
}

// Try judges keyfill's answer about a query.
func (c *Court) Try(query string) Verdict {
	var v Verdict
	start := time.Now()
	ex, err := c.ask(query)
	v.Took = time.Since(start)
	v.Action = ex.Action
	text, checked, judge := c.read(query)
	v.Judge, v.Kind = judge, text.Kind()
	switch {
	case err != nil:
		v.Wrong = err.Error()
		return v
	case ex.Action == "fill":
		if err := c.filled(query, &ex, text, checked, judge); err != nil {
			v.Wrong = err.Error()
		}
	case ex.SQL != query:
		v.Wrong = "not filled, and the text is another"
	case ex.Action == "refuse":
		v.Reason = reasonOf(ex.Reason)
	}
	if v.Wrong == "" && judge != Nobody {
		v.Wrong = unfilled(query, text, &ex)
	}
	v.Missed = judge != Nobody && v.Wrong == "" && missed(&v, query)
	v.Excused = excused(&v) || v.Action == "refuse" && !v.Missed && isSet(&v, query) || v.Action == "pass" && temporaries(query) > 0
	v.Apart = judge == Nobody || judge == Checker && c.parse != nil
	return v
}

// ask calls the court's Explain. It returns a panic as an error.
func (c *Court) ask(query string) (ex explain.Explanation, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	return c.explain(query)
}

// read returns the text twice: as read by the judge that counts, and as read by the
// checker. The result of a judge that could not read the text is nil.
func (c *Court) read(query string) (text, checked *tree.Text, judge Judge) {
	checked, err := checker.Read(c.dialect, query)
	if err != nil {
		checked = nil
	}
	switch {
	case c.sqlite != nil && c.accepts(query) == nil && checked != nil:
		return checked, checked, Parser
	case c.sqlite != nil:
	case c.parse != nil:
		if text, err := c.parse(query); err == nil {
			if checked != nil {
				text.Load = checked.Load
			}
			return text, checked, Parser
		}
	}
	if checked == nil {
		return &tree.Text{}, nil, Nobody
	}
	if c.sqlite != nil || c.dialect == "postgres" {
		return checked, checked, Nobody
	}
	return checked, checked, Checker
}

// accepts asks SQLite whether a text is SQL. CREATE looks up names before its body is read;
// nothing in the body is filled, so accepts ignores an error about a name.
func (c *Court) accepts(query string) error {
	statements, err := checker.Split(c.dialect, query)
	if err != nil {
		return err
	}
	var early *parsers.EarlyError
	for _, s := range statements {
		err := c.sqlite.Accepts([]string{s})
		if err != nil && !(errors.As(err, &early) && strings.HasPrefix(strings.ToLower(s), "create")) {
			return err
		}
	}
	return nil
}

// filled returns an error unless a fill is the input plus keys, for all judges that accept
// the input.
func (c *Court) filled(query string, ex *explain.Explanation, text, checked *tree.Text, judge Judge) error {
	rule := tree.Rule{Column: Column, Literal: ex.Literal}
	if ex.SQL == query {
		return errors.New("filled, and the text is the same")
	}
	if text.Kind() == tree.Kind(tree.Bulk) {
		return c.load(query, ex)
	}
	if judge == Parser && c.sqlite != nil {
		if err := c.accepts(ex.SQL); err != nil {
			return fmt.Errorf("the filled text: %w", err)
		}
	}
	q, err := checker.QueryOf(c.dialect, query)
	if err != nil {
		q = &checker.Query{Text: query}
	}
	if q.Text != query && hasQuery(text) && ex.Rows == nil { // otherwise the SELECTs of the text count as rows, and the text is not changed
		text, checked, judge = c.read(q.Text)
	}
	if judge == Parser && c.parse != nil {
		out, err := c.parse(ex.SQL)
		if err != nil {
			return fmt.Errorf("the filled text does not parse: %w", err)
		}
		f, err := tree.Compare(stripped(text), stripped(out), rule)
		if err != nil {
			return fmt.Errorf("parser: %w", err)
		}
		if err := whole(query, f, ex); err != nil {
			return fmt.Errorf("parser: %w", err)
		}
	}
	if checked == nil {
		return nil
	}
	out, err := checker.Read(c.dialect, ex.SQL)
	if err != nil {
		return fmt.Errorf("checker: the filled text: %w", err)
	}
	if c.dialect == "sqlite" {
		if err := original(checked, out, ex); err != nil {
			return fmt.Errorf("checker: %w", err)
		}
	}
	f, err := tree.Compare(checked, out, rule)
	if err != nil {
		return fmt.Errorf("checker: %w", err)
	}
	if err := whole(query, f, ex); err != nil {
		return fmt.Errorf("checker: %w", err)
	}
	for _, n := range f.Queries {
		if err := c.numbered(query, n, q); err != nil {
			return fmt.Errorf("checker: %w", err)
		}
	}
	return c.slots(f, ex)
}

// numbered returns an error unless an INSERT … SELECT is numbered as it has to be. q is the
// query of the text, if the text has one query. Otherwise numbered reads the queries of the
// statements one by one.
func (c *Court) numbered(query string, n tree.Numbered, q *checker.Query) error {
	err := checker.Numbered(c.dialect, n, q)
	statements, split := checker.Split(c.dialect, query)
	if err == nil || split != nil || len(statements) < 2 {
		return err
	}
	for _, s := range statements {
		one, failed := checker.QueryOf(c.dialect, s)
		if failed == nil && checker.Numbered(c.dialect, n, one) == nil {
			return nil
		}
	}
	return err
}

// hasQuery reports whether the rows of an INSERT come from a query.
func hasQuery(t *tree.Text) bool {
	return slices.ContainsFunc(t.Inserts(), func(in tree.Found) bool { return in.Insert.Form == tree.Query })
}

// stripped returns a text without the comments and the other facts that only the checker
// knows.
func stripped(t *tree.Text) *tree.Text { return &tree.Text{Statements: t.Statements} }

// whole returns an error unless every INSERT that has to be filled is filled, and the
// number of keys is the number that keyfill reports.
func whole(query string, f tree.Filling, ex *explain.Explanation) error {
	for _, u := range f.Unfilled {
		if u.Wrap != tree.Body && !u.NoTable && !names(u.Insert) {
			return errors.New("one INSERT is filled and another is not")
		}
	}
	if f.Inserts == 0 {
		return errors.New("filled, and no INSERT has a key")
	}
	rows := len(f.Keys)
	for _, u := range f.Unfilled {
		if !u.NoTable && names(u.Insert) {
			rows += max(1, len(u.Rows))
		}
	}
	switch {
	case ex.Rows == nil || len(f.Queries) > 0:
	case (f.Listed || rows > len(f.Keys)) && *ex.Rows >= rows: // this is right too, since ex.Rows may count rows that bring their own keys
	case *ex.Rows != rows:
		return fmt.Errorf("%d keys for %d rows", len(f.Keys), *ex.Rows)
	}
	return nil
}

// slots returns an error unless the keys are the arguments that keyfill reports. Oracle
// binds by the place in the text, whatever the name of a placeholder is.
func (c *Court) slots(f tree.Filling, ex *explain.Explanation) error {
	if ex.Literal || len(f.Queries) > 0 {
		return nil
	}
	if f.Listed && len(ex.Slots) < len(f.Keys) {
		// A placeholder that the caller uses twice was replaced by a new placeholder, whose
		// value is decided at execution.
		return nil
	}
	if len(ex.Slots) != len(f.Keys) {
		return fmt.Errorf("%d slots for %d keys", len(ex.Slots), len(f.Keys))
	}
	for i, key := range f.Keys {
		number := strings.TrimLeft(key.Label, "?$:@pP")
		if c.dialect == "oracle" {
			number = ""
		}
		at := fmt.Sprint(ex.Slots[i].Arg)
		switch {
		case number == "" && fmt.Sprint(key.Ordinal) != at,
			number != "" && strings.Trim(number, "0123456789") == "" && number != at:
			return fmt.Errorf("key %d is argument %s in the text and %s in the slots", i+1, key.Label, at)
		}
	}
	return nil
}

// unfilled returns what is wrong with the answer about an INSERT that is kept or passed, or
// an empty text.
func unfilled(query string, text *tree.Text, ex *explain.Explanation) string {
	if ex.Action != "keep" && ex.Action != "pass" {
		return ""
	}
	if text.Load == tree.Bulk && ex.Action == "pass" {
		return "a bulk load passed"
	}
	temporary := temporaries(query)
	for _, in := range text.Inserts() {
		if in.Wrap == tree.Body || in.NoTable || ex.Action == "keep" && names(in.Insert) {
			continue
		}
		if temporary--; temporary >= 0 {
			continue
		}
		return "an INSERT without a key: " + ex.Action
	}
	return ""
}

// names reports whether an INSERT names the key column.
func names(in *tree.Insert) bool {
	for _, n := range in.Names {
		if n == Column {
			return true
		}
	}
	return false
}

// Answer returns the text that keyfill would send, for people.
func (c *Court) Answer(query string) string {
	ex, err := c.ask(query)
	if err != nil {
		return err.Error()
	}
	return ex.SQL
}
