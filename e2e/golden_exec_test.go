package e2e_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/rewrite"
)

// TestGoldenExecutes executes the golden cases on their engines, with the keys
// bound and with the keys as literals, and looks for the keys in the key
// columns. Every argument of the caller is NULL, which all columns but the keys
// take: a key in the wrong place is an error or is not found.
func TestGoldenExecutes(t *testing.T) {
	each(t, goldenEngines, func(t *testing.T, s *scratch) {
		s.goldenTables(t)
		executed, not := 0, 0
		for _, c := range goldenCases(t) {
			if !s.takes(c) || prepare(s.raw, c.in) != nil && !c.several() {
				continue
			}
			if strings.HasPrefix(c.name, "explain/") || strings.HasPrefix(c.name, "session/explained") {
				not++ // stores nothing, or is TestExplain's
				continue
			}
			if why := notExecutable[c.name]; why != "" {
				t.Logf("%s: %s", c.name, why)
				not++
				continue
			}
			switch err := s.executeGolden(c); {
			case err == nil:
				executed++
			case errors.Is(err, errNotExecuted):
				t.Logf("%s: %v\nin: %s", c.name, err, c.in)
				not++
			default:
				t.Errorf("%s: %v\nin:  %s\nout: %s", c.name, err, c.in, c.out)
			}
		}
		if executed == 0 {
			t.Error("no case was executed")
		}
		t.Logf("%d cases executed, %d not", executed, not)
	})
}

// notExecutable are cases that cannot be executed for a reason of their own.
var notExecutable = map[string]string{
	"key_listed/placeholder_shared_leading_zero.sqlite":         "modernc.org/sqlite takes ?01 for a name",
	"placeholders_question/session_variables.mysql+mariadb":     "the server's mode is too long for the column",
	"several/create_trigger_and_insert.sqlite":                  "it names a table that is not there",
	"several/trigger_of_one_statement_and_insert.mysql+mariadb": "it names a table that is not there",
	"several/rule_and_insert.postgres":                          "it names a table that is not there",
	"several/event_trigger_and_insert.postgres":                 "it names a function that is not there",
	"several/unknown_statement_behind.mysql+mariadb":            "it is an error",
	"several/unknown_statement_behind.postgres":                 "it is an error",
	"several/unknown_statement_behind.sqlite":                   "it is an error",
	"set/partition": "the key has to be of the partition",
}

// errNotExecuted is wrapped by the reasons why a case cannot be tried so.
var errNotExecuted = errors.New("not executed")

// executeGolden executes a case both ways and looks for its keys.
func (s *scratch) executeGolden(c goldenCase) error {
	targets, err := goldenTargets(c, s.dialect)
	if err != nil {
		return err
	}
	p := rewrite.Compile(s.dialect, func(schema, table string) *rewrite.Target {
		if t := targets[schema+"."+table]; t != nil {
			return t
		}
		return targets[table]
	}, c.in)
	args := make([]driver.NamedValue, p.Placeholders())
	for i := range args {
		args[i].Ordinal = i + 1
	}
	h, err := p.Holes(args)
	if err != nil {
		return fmt.Errorf("%w: %w", errNotExecuted, err)
	}
	keys := goldenKeys(p, h)
	if rewrite.TransactionOf(s.dialect, c.in) != rewrite.TxUnchanged {
		return fmt.Errorf("%w: it may end the transaction that is to be undone", errNotExecuted)
	}
	if prepare(s.raw, c.in) != nil {
		if len(args) > 0 {
			return fmt.Errorf("%w: the server prepares one statement", errNotExecuted)
		}
	} else if p.Unbound() == "" {
		if err := s.execGolden(p, p.BoundText(false), p.Bind(args, h, keys), keys); err != nil {
			return fmt.Errorf("bound: %w", err)
		}
	}
	if p.Session() && p.Statements == 1 {
		if err := s.execGolden(p, p.BoundText(true), p.Bind(args, h, keys), keys); err != nil {
			return fmt.Errorf("session: %w; %s", err, p.BoundText(true))
		}
	}
	text, args := p.Inline(args, h, keys, false)
	if err := s.execGolden(p, text, args, keys); err != nil {
		return fmt.Errorf("literal: %w; %s", err, text)
	}
	return nil
}

// execGolden executes a text, looks for the keys and undoes it.
func (s *scratch) execGolden(p *rewrite.Plan, query string, args []driver.NamedValue, keys [][]driver.Value) error {
	tx, err := s.raw.Begin()
	if err != nil {
		return err
	}
	defer tx.Rollback()
	values := make([]any, len(args))
	for i, a := range args {
		values[i] = a.Value
	}
	if _, err := tx.Exec(query, values...); err != nil {
		return err
	}
	for i, d := range p.Draws {
		t := p.Inserts[d.Insert].Target
		for n, key := range keys[i] {
			if err := s.findKey(tx, t.Table, t.Keys[d.Key].Column, key); err != nil {
				return fmt.Errorf("key %d of column %s: %w", n, t.Keys[d.Key].Column, err)
			}
		}
	}
	return nil
}

// findKey fails unless exactly one row of a table has the key.
func (s *scratch) findKey(tx *sql.Tx, table, column string, key driver.Value) error {
	var names []string
	for part := range strings.SplitSeq(table, ".") {
		names = append(names, s.dialect.QuoteIdent(s.dialect.Fold(part, false)))
	}
	query := "SELECT COUNT(*) FROM " + strings.Join(names, ".") + " WHERE " + s.dialect.QuoteIdent(column) + " = ?"
	var n int
	if err := tx.QueryRowContext(context.Background(), s.placeholders(query), key).Scan(&n); err != nil {
		return err
	}
	if n != 1 {
		return fmt.Errorf("%d rows have it", n)
	}
	return nil
}

// goldenKeys returns the keys that a plan takes: 1001, 1002 … where they are
// integers, else UUIDs that end so.
func goldenKeys(p *rewrite.Plan, h rewrite.Holes) [][]driver.Value {
	keys := make([][]driver.Value, len(p.Draws))
	n := 1000
	for i, d := range p.Draws {
		for range h.Counts[i] {
			n++
			if p.Inserts[d.Insert].Target.Keys[d.Key].Integer {
				keys[i] = append(keys[i], int64(n))
			} else {
				keys[i] = append(keys[i], fmt.Sprintf("01900000-0000-7000-8000-%012d", n))
			}
		}
	}
	return keys
}

// goldenTargets reads the target lines of a case's archive, whose form is
//
//	target: orders key=id:integer columns=id,name fill=missing,null
func goldenTargets(c goldenCase, d *dialect.Dialect) (map[string]*rewrite.Target, error) {
	targets := map[string]*rewrite.Target{}
	for line := range strings.Lines(string(c.archive.Comment)) {
		rest, ok := strings.CutPrefix(line, "target:")
		if !ok {
			continue
		}
		words := strings.Fields(rest)
		t := &rewrite.Target{Table: words[0]}
		fill := rewrite.FillMissing | rewrite.FillNull | rewrite.FillDefault
		for _, w := range words[1:] {
			name, value, _ := strings.Cut(w, "=")
			switch name {
			case "key":
				column, kind, _ := strings.Cut(value, ":")
				t.Keys = append(t.Keys, rewrite.Key{Column: d.Fold(column, false), Integer: kind != "", Session: kind == "session"})
			case "columns":
				for c := range strings.SplitSeq(value, ",") {
					t.Columns = append(t.Columns, d.Fold(c, false))
				}
			case "fill":
				fill = 0
				for f := range strings.SplitSeq(value, ",") {
					fill |= 1 << slices.Index([]string{"missing", "null", "default", "zero"}, f)
				}
			default:
				return nil, fmt.Errorf("unknown word %q of a target", name)
			}
		}
		for i := range t.Keys {
			t.Keys[i].Fill = fill
		}
		targets[d.Fold(t.Table, false)] = t
	}
	return targets, nil
}
