package compile

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// keepsTables notes which temporary tables the statement before this one makes, if there
// is one, and whether it may have dropped others.
func keepsTables(p *plans.Draft) {
	if !p.Dialect.Grammar.TempTables {
		return
	}
	if p.Statements == 2 {
		p.HasTemporary = p.Standing != nil || words.Search(p.Text, 0, words.TemporarySet) != 0
		p.SetsPath = p.HasTemporary && strings.Contains(strings.ToLower(p.Text), "search_path")
	}
	if p.HasTemporary && p.Statements > 1 {
		behind(p, p.Text[p.StatementStart:p.Token.Start])
	}
	p.StatementStart = p.Token.Start
}

// behind notes what a previous statement does to temporary tables.
func behind(p *plans.Draft, statement string) {
	for _, name := range effects.Temporary(p.Dialect, statement) {
		if p.MaybeMade == nil {
			p.MaybeMade = map[string]bool{}
		}
		p.MaybeMade[name] = true
	}
	q := reader.New(p.Dialect, statement)
	n, ok := effects.CreatesTemporary(&q)
	switch {
	case !ok:
		if !effects.LeavesTables(p.Dialect, statement) {
			p.MadeTables, p.MovedTables = nil, true
		}
	case !p.SetsPath:
		n.Start += p.StatementStart
		n.End += p.StatementStart
		if inserts.IsMade(p, n) {
			return
		}
		if p.MadeTables == nil {
			p.MadeTables = map[string][]reader.Name{}
		}
		p.MadeTables[n.Table] = append(p.MadeTables[n.Table], n)
	}
}

// QueryWithTemporary is [Query] for a connection on which names may mean temporary
// tables: it calls standing for each configured table.
func QueryWithTemporary(d *dialect.Dialect, lookup plans.Lookup, query string, standing func(plans.TableName) plans.Standing) *plans.Plan {
	query = strings.Clone(query)
	p := &plans.Draft{Reader: reader.At(d, query, 0), Lookup: lookup, Standing: standing}
	statementsOf(p)
	return p.Plan()
}
