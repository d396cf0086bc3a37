package statements_test

import (
	"context"
	"database/sql"
	"regexp"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
)

// goldenText is a text of a golden case on its way to an engine.
type goldenText struct {
	goldenCase
	next     func() (query string, args []any) // for the next execution
	prepared bool
	behind   []string // statements that remove what it leaves
}

// goldenStored is the content of the tables after a case, and the rows that it returned.
type goldenStored struct {
	first    []string // rows
	again    []string // rows after a second execution; nil if there is none
	returned []string // by both
	err      error    // of the second execution
}

// executor is a connection or a transaction.
type executor interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	PrepareContext(context.Context, string) (*sql.Stmt, error)
}

// execute executes a text and reads all rows, in a transaction that is undone unless the
// text ends transactions itself. Names is asked after each execution.
func (c goldenText) execute(ctx context.Context, db *sql.DB, all string, names func() map[string]string) (stored goldenStored, err error) {
	ctx, cancel := context.WithTimeout(ctx, harness.Limit)
	defer cancel()
	conn, err := db.Conn(ctx)
	if err != nil {
		return stored, err
	}
	defer conn.Close()
	before := goldenSetup[c.name].before
	if lastInsertIDWord.MatchString(c.in) {
		before = append(slices.Clone(before), "DO LAST_INSERT_ID(4242)") // not what an earlier case has left
	}
	for _, statement := range before {
		if _, err := conn.ExecContext(ctx, statement); err != nil {
			return stored, err
		}
	}
	defer func() {
		if c.ends() {
			_, _ = conn.ExecContext(ctx, "ROLLBACK") // an error where nothing is open
		}
		for _, statement := range c.behind {
			if _, failed := conn.ExecContext(ctx, statement); failed != nil && err == nil {
				err = failed
			}
		}
	}()
	var x executor = conn
	if !c.ends() {
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return stored, err
		}
		defer tx.Rollback()
		x = tx
	}
	if stored.returned, err = c.send(ctx, x, names); err != nil {
		return stored, err
	}
	if stored.first, err = dump(ctx, x, all, names()); err != nil || !c.isUpsert() || c.ends() {
		return stored, err
	}
	var more []string
	if more, stored.err = c.send(ctx, x, names); stored.err != nil {
		return stored, nil
	}
	stored.returned = append(stored.returned, more...)
	stored.again, err = dump(ctx, x, all, names())
	return stored, err
}

// send executes a text once and returns the rows that it gives back.
func (c goldenText) send(ctx context.Context, x executor, names func() map[string]string) ([]string, error) {
	query, args := c.next()
	exec, ask := x.ExecContext, x.QueryContext
	if c.prepared {
		stmt, err := x.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		defer stmt.Close()
		exec = func(ctx context.Context, _ string, args ...any) (sql.Result, error) {
			return stmt.ExecContext(ctx, args...)
		}
		ask = func(ctx context.Context, _ string, args ...any) (*sql.Rows, error) {
			return stmt.QueryContext(ctx, args...)
		}
	}
	if !c.returns() && !explainWords.MatchString(query) {
		_, err := exec(ctx, query, args...)
		return nil, err
	}
	rows, err := ask(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	sets, err := goldenRows(rows)
	if err != nil || !c.returns() {
		return nil, err
	}
	var texts []string
	known := names()
	for _, set := range sets {
		text := "returned:"
		for _, v := range set {
			text += " " + keyNamed(v, known)
		}
		texts = append(texts, text)
	}
	return texts, nil
}

// goldenRows returns the rows that a statement gives back, nil for NULL, but for
// the column that says in which order they came.
func goldenRows(rows *sql.Rows) ([][]*string, error) {
	columns, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	values := make([]*string, len(columns))
	into := make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	order := slices.Index(columns, "kf_row") // by RETURNING *
	var sets [][]*string
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		set := slices.Clone(values)
		if order >= 0 {
			set = slices.Delete(set, order, order+1)
		}
		sets = append(sets, set)
	}
	return sets, rows.Err()
}

// topic is the name of the case's archive.
func (c goldenCase) topic() string {
	topic, _, _ := strings.Cut(c.name, "/")
	return topic
}

// ends reports whether the text may end a transaction.
func (c goldenCase) ends() bool {
	for _, name := range c.dialects {
		if d, err := dialect.ByName(name); err == nil && effects.TransactionOf(d, c.in) != effects.TxUnchanged {
			return true
		}
	}
	return false
}

var (
	upsertWords      = regexp.MustCompile(`(?i)\b(conflict|duplicate|ignore|replace|or)\b`)
	lastInsertIDWord = regexp.MustCompile(`(?i)last_insert_id`)
	explainWords     = regexp.MustCompile(`(?i)^\s*(explain|describe|desc|analyze)\b`)
	returningWords   = regexp.MustCompile(`(?i)\breturning\b`)
)

// isUpsert reports whether the text may find its rows when it is executed twice.
func (c goldenCase) isUpsert() bool { return upsertWords.MatchString(c.in) }

// returns reports whether the rows that the text gives back are compared. In SQLite they
// are not: its RETURNING does not see what a trigger writes later.
func (c goldenCase) returns() bool {
	return returningWords.MatchString(c.in) && !explainWords.MatchString(c.in) && !c.several() && !slices.Contains(c.dialects, "sqlite")
}

// leftover returns the statements that remove what a case leaves in a database.
func (j *judge) leftover(c goldenCase, hand bool) []string {
	behind := slices.Clone(goldenSetup[c.name].behind)
	if !c.ends() {
		return behind
	}
	for _, table := range j.tables {
		behind = append(behind, "DELETE FROM "+quoted(j.hand, table.name))
	}
	if hand {
		behind = append(behind, "UPDATE kf_keys SET used = 0")
	}
	return behind
}

// keyNumber is the number that a key has in the rows of a goldenStored.
var keyNumber = regexp.MustCompile(`#\d+`)

// unordered returns the same without the numbers of the keys: which row has which
// does not count.
func (s goldenStored) unordered() goldenStored {
	for _, rows := range []*[]string{&s.first, &s.again, &s.returned} {
		*rows = slices.Clone(*rows)
		for i, row := range *rows {
			(*rows)[i] = keyNumber.ReplaceAllString(row, "#")
		}
		slices.Sort(*rows)
	}
	return s
}
