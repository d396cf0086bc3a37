package keyfill

import (
	"context"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// An INSERT without a column list gets one with its key, so that no value moves
// to another column than the one that was judged. The columns that the policy
// does not name are asked for on the INSERT's own connection, whose temporary
// tables and search path count, and are known there until its next checkout.

// knownColumns are the columns of tables, as far as a connection has asked, by
// the table's name as the text has it.
type knownColumns struct {
	byName map[string][]string

	// unsure says that a statement was prepared that may change a table: when
	// it runs is not seen.
	unsure bool
}

// maxKnown bounds the tables that a connection knows the columns of.
const maxKnown = 1000

// listed returns the plan of a query that was refused because its only INSERT
// has no column list, with the table's columns. It is the plan that there is
// where they may not be asked for, or the table is not found: with mode off,
// and for a text that asks for the number of rows that the statement before it
// changed. An error is the driver's own.
func (db *database) listed(ctx context.Context, g *guard, e *engine, n naming, query string, p *rewrite.Plan) (*rewrite.Plan, error) {
	in := unlisted(p)
	if in == nil || db.standIn != nil || p.Reads()&rewrite.ReadsCount != 0 {
		return p, nil
	}
	t := tableOf(in)
	mode := db.effective(t)
	if mode == policy.ModeOff {
		return p, nil
	}
	columns := g.columns.byName[in.Unlisted]
	if columns == nil {
		if err := db.lock(ctx, g, t, 0); err != nil {
			return p, err
		}
		var err error
		columns, err = catalog.Implied(ctx, e.dialect, catalog.Conn(g.conn),
			catalog.Name{Schema: t.rule.Schema, Table: t.rule.Name, Text: in.Unlisted})
		if err != nil && mode == policy.ModeDryRun {
			return p, nil // the engine says itself what is wrong
		}
		if err != nil || columns == nil {
			return p, err
		}
		g.columns.keep(in.Unlisted, columns)
	}
	return e.listedPlan(n, p.Dialect(), query, in.Target, columns), nil
}

// unlisted returns the INSERT of a plan that was refused for want of columns
// alone; nil where there is none, or other statements stand beside it, which
// may change them. A name of three parts may be of another database, whose
// catalog is not asked.
func unlisted(p *rewrite.Plan) *rewrite.Insert {
	if p.Action != rewrite.Refuse || p.Refusal.Reason != rewrite.ErrNoColumnList || p.Statements != 1 || len(p.Inserts) != 1 {
		return nil
	}
	in := &p.Inserts[0]
	if in.Unlisted == "" || strings.Count(in.Unlisted, ".") > 1 {
		return nil
	}
	return in
}

// keep remembers the columns of a table.
func (k *knownColumns) keep(name string, columns []string) {
	if k.unsure {
		return
	}
	if k.byName == nil || len(k.byName) == maxKnown {
		k.byName = map[string][]string{}
	}
	k.byName[name] = columns
}

// forget is for the end of a checkout, and for what may have changed a table.
func (k *knownColumns) forget() { k.byName = nil }

// sends notes that a text is executed on the connection.
func (k *knownColumns) sends(d *dialect.Dialect, query string) {
	if k.byName != nil && !leavesTables(d, query) {
		k.forget()
	}
}

// prepares notes that a text is prepared on the connection.
func (k *knownColumns) prepares(d *dialect.Dialect, query string) {
	if !k.unsure && !leavesTables(d, query) {
		k.forget()
		k.unsure = true
	}
}

// leavesTables reports whether a text leaves the columns of all tables, and what
// their names mean: a single INSERT or REPLACE, or an UPDATE, DELETE or SELECT
// that calls nothing, since a function may do what it likes. Anything else costs
// no more than asking again.
func leavesTables(d *dialect.Dialect, query string) bool {
	word, rest := single(d, query)
	return isAny(word, "insert", "replace") ||
		isAny(word, "update", "delete", "select") && !strings.Contains(rest, "(")
}

// single returns the first word of a text of one statement, and the rest of it;
// nothing where there may be more of them.
func single(d *dialect.Dialect, query string) (word, rest string) {
	if d.Grammar.NoSemicolon {
		return "", "" // another statement may follow behind white space
	}
	query = strings.TrimRight(withoutComments(d, query), "; \t\r\n")
	if strings.Contains(query, ";") {
		return "", ""
	}
	n := strings.IndexFunc(query, func(r rune) bool { return r|0x20 < 'a' || r|0x20 > 'z' })
	if n < 0 {
		return "", ""
	}
	return query[:n], query[n:]
}

// isAny reports whether a word of a text is one of the keywords.
func isAny(word string, keywords ...string) bool {
	return slices.ContainsFunc(keywords, func(k string) bool { return strings.EqualFold(word, k) })
}

// withoutComments returns a text without the white space and the comments that
// it begins with. A comment with ! in it may be run by the engine.
func withoutComments(d *dialect.Dialect, query string) string {
	for {
		query = strings.TrimLeft(query, " \t\r\n")
		n := 0
		switch {
		case strings.HasPrefix(query, "--"):
			ends := "\n"
			if d.Lexis.ReturnEndsLine {
				ends = "\r\n"
			}
			n = strings.IndexAny(query, ends) + 1
		case strings.HasPrefix(query, "/*"):
			n = commentEnd(d, query)
		default:
			return query
		}
		if n == 0 || strings.Contains(query[:n], "!") {
			return ""
		}
		query = query[n:]
	}
}

// commentEnd returns the offset behind the comment that a text begins with, 0
// where it does not end.
func commentEnd(d *dialect.Dialect, query string) int {
	depth := 0
	for i := 0; i+1 < len(query); i++ {
		switch query[i : i+2] {
		case "*/":
			if depth--; depth == 0 {
				return i + 2
			}
			i++
		case "/*":
			if depth == 0 || d.Lexis.NestedComments {
				depth++
			}
			i++
		}
	}
	return 0
}

// sameColumns reports whether two plans of one query read it alike, of the same
// tables, and write the same column lists, so that the arguments of one fit the text of the other.
func sameColumns(a, b *rewrite.Plan) bool {
	return a == b || a.Dialect() == b.Dialect() && slices.EqualFunc(a.Inserts, b.Inserts, func(a, b rewrite.Insert) bool {
		return a.Target.Owner == b.Target.Owner && slices.Equal(a.Target.Columns, b.Target.Columns)
	})
}

// listedPlan returns the plan of a query for a table with these columns, in the
// engine's dialect under the settings of a session.
func (e *engine) listedPlan(n naming, d *dialect.Dialect, query string, target *rewrite.Target, columns []string) *rewrite.Plan {
	// No name has a NUL in it, and none is empty.
	key := n.key + string(rune(d.Settings)) + strings.Join(columns, "\x00") + "\x00\x00" + query
	if p, ok := e.listed.Get(key); ok {
		return p
	}
	known := *target
	known.Columns = columns
	p := rewrite.Compile(d, func(schema, name string) *rewrite.Target {
		found := n.lookup(schema, name)
		if found != nil && found.Owner == target.Owner {
			return &known
		}
		return found
	}, query)
	e.listed.Put(key, p)
	return p
}
