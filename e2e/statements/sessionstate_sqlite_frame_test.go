package statements_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// The frame of the law about states of a session: what keyfill asks on the caller's
// connection does no harm in any of them. The same statements run in the same state through
// the plain driver and through keyfill, each in a database of its own, and both have to say
// the same. An engine gives the states, the forms of INSERT and the tables.

// sessionState is something that a session may have become.
type sessionState struct {
	name  string
	enter []string // statements that make it
	tx    bool     // in a transaction of BeginTx, which is committed before leave
	open  string   // a query whose rows stay open meanwhile
	leave []string // statements that end it, and that would show what was left
	looks []string // queries whose answers are compared in the end
}

// sessionForm is one form of INSERT.
type sessionForm struct {
	name         string
	run          func(ctx context.Context, x sessionExecer) (string, error)
	mayBeRefused bool // for some kinds of sources, by docs/deviations.md
}

// orRefused returns the form as one that keyfill refuses for some kinds.
func (f sessionForm) orRefused() sessionForm {
	f.mayBeRefused = true
	return f
}

// sessionExecer is a *sql.Conn or *sql.Tx.
type sessionExecer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// execForm executes a text.
func execForm(name, query string, args ...any) sessionForm {
	return sessionForm{name: name, run: func(ctx context.Context, x sessionExecer) (string, error) {
		res, err := x.ExecContext(ctx, query, args...)
		if err != nil {
			return "", err
		}
		n, err := res.RowsAffected()
		return fmt.Sprint(n, " rows affected"), err
	}}
}

// queryForm reads the rows of a text.
func queryForm(name, query string, args ...any) sessionForm {
	return sessionForm{name: name, run: func(ctx context.Context, x sessionExecer) (string, error) {
		return sessionAnswer(ctx, x, query, args...)
	}}
}

// preparedForm executes a prepared text twice.
func preparedForm(name, query string, first, second []any) sessionForm {
	return sessionForm{name: name, run: func(ctx context.Context, x sessionExecer) (string, error) {
		stmt, err := x.PrepareContext(ctx, query)
		if err != nil {
			return "", err
		}
		defer stmt.Close()
		for _, args := range [][]any{first, second} {
			if _, err := stmt.ExecContext(ctx, args...); err != nil {
				return "", err
			}
		}
		return "", nil
	}}
}

// sessionAnswer returns the names and the values of an answer.
func sessionAnswer(ctx context.Context, x sessionExecer, query string, args ...any) (string, error) {
	rows, err := x.QueryContext(ctx, query, args...)
	if err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	lines := []string{strings.Join(columns, " ")}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return "", err
		}
		for i := range values {
			if text, ok := values[i].([]byte); ok {
				values[i] = string(text)
			}
		}
		lines = append(lines, strings.TrimSpace(fmt.Sprintln(values...)))
	}
	return strings.Join(lines, "; "), rows.Err()
}

// sessionLine is what came of one step.
type sessionLine struct {
	step, answer string
	err          error
}

// said returns what both sides have to say alike: of errors, that there is one.
func (l sessionLine) said() string {
	if l.err != nil {
		return "an error"
	}
	return l.answer
}

// run brings a connection into the state, runs the forms there, and leaves it. {side} in
// the statements is the name of the side.
func (st sessionState) run(ctx context.Context, c *sql.Conn, side string, forms []sessionForm) (lines []sessionLine) {
	note := func(step, answer string, err error) { lines = append(lines, sessionLine{step, answer, err}) }
	exec := func(queries []string) {
		for _, q := range queries {
			_, err := c.ExecContext(ctx, strings.ReplaceAll(q, "{side}", side))
			note(q, "", err)
		}
	}
	exec(st.enter)
	x, commit := sessionExecer(c), func() error { return nil }
	if st.tx {
		tx, err := c.BeginTx(ctx, nil)
		note("BeginTx", "", err)
		if err == nil {
			x, commit = tx, tx.Commit
		}
	}
	var open *sql.Rows
	if st.open != "" {
		rows, err := x.QueryContext(ctx, st.open)
		note(st.open, "", err)
		if err == nil {
			open = rows
			note("its first row", fmt.Sprint(rows.Next()), nil)
		}
	}
	for _, f := range forms {
		answer, err := f.run(ctx, x)
		note(f.name, answer, err)
	}
	if open != nil {
		n := 0
		for open.Next() {
			n++
		}
		note("its other rows", fmt.Sprint(n), open.Err())
	}
	note("Commit", "", commit())
	exec(st.leave)
	for _, q := range st.looks {
		answer, err := sessionAnswer(ctx, c, q)
		note(q, answer, err)
	}
	return lines
}

// sessionLaw compares the two sides. Forms that keyfill refuses in any state are left out.
type sessionLaw struct {
	forms []sessionForm
	open  func(t *testing.T) (plain, filled *sql.Conn, warnings func() string)
	none  sessionState // without any state

	once sync.Once
}

// differences returns the steps in which the sides differ.
func (l *sessionLaw) differences(t *testing.T, st sessionState) (found map[string]string, order []string) {
	t.Helper()
	plain, filled, warnings := l.open(t)
	ctx := context.Background()
	want, got := st.run(ctx, plain, "plain", l.forms), st.run(ctx, filled, "filled", l.forms)
	found = map[string]string{}
	for i, w := range want {
		if i < len(got) && got[i].said() == w.said() {
			continue
		}
		if i >= len(got) || got[i].step != w.step {
			t.Fatalf("the sides took different steps: %v, %v", want, got)
		}
		found[w.step] = fmt.Sprintf("plain: %s %v; filled: %s %v", w.answer, w.err, got[i].answer, got[i].err)
		order = append(order, w.step)
	}
	if w := warnings(); w != "" {
		found["log"] = w
		order = append(order, "log")
	}
	return found, order
}

// check asks that the sides differ in nothing but the exceptions: parts of their answers.
// An exception that is no difference any more fails.
func (l *sessionLaw) check(t *testing.T, st sessionState, except ...string) {
	t.Helper()
	l.once.Do(func() {
		usual, _ := l.differences(t, l.none)
		l.forms = slices.DeleteFunc(slices.Clone(l.forms), func(f sessionForm) bool {
			_, refused := usual[f.name]
			return refused && f.mayBeRefused
		})
	})
	found, order := l.differences(t, st)
	met := map[string]bool{}
	for _, step := range order {
		if i := slices.IndexFunc(except, func(part string) bool { return strings.Contains(step+": "+found[step], part) }); i >= 0 {
			met[except[i]] = true
			continue
		}
		t.Errorf("%s: %.400s", step, found[step])
	}
	for _, part := range except {
		if !met[part] {
			t.Errorf("%q does not come any more", part)
		}
	}
}

// sessionWarnings is a logger that keeps what is a warning or worse, but for refusals, which
// are errors too.
func sessionWarnings() (*slog.Logger, func() string) {
	var buf bytes.Buffer
	return slog.New(slog.NewTextHandler(&buf, &slog.HandlerOptions{Level: slog.LevelWarn})), func() string {
		lines := slices.DeleteFunc(strings.Split(buf.String(), "\n"), func(line string) bool { return strings.Contains(line, "INSERT refused") })
		return strings.Join(lines, "\n")
	}
}

// connsOf returns one connection of each side.
func connsOf(t *testing.T, plain, filled *sql.DB) (*sql.Conn, *sql.Conn) {
	t.Helper()
	return harness.ConnOf(t, plain), harness.ConnOf(t, filled)
}
