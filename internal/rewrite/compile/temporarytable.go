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

// keepsTables notes which temporary tables the statement before the current one makes, if
// there is one, and whether that statement may have dropped other temporary tables.
func keepsTables(p *plans.Draft) {
	if !p.Dialect.Grammar.TempTables {
		return
	}
	if p.Split.Statements == 2 {
		p.Tables.HasTemporary = p.Tables.Standing != nil || words.Search(p.Text, 0, words.TemporarySet) != 0
		p.Tables.SetsPath = p.Tables.HasTemporary && strings.Contains(strings.ToLower(p.Text), "search_path")
	}
	if p.Tables.HasTemporary && p.Split.Statements > 1 {
		behind(p, p.Text[p.Split.StatementStart:p.Token.Start])
	}
	p.Split.StatementStart = p.Token.Start
}

// behind notes what an earlier statement of the text does to temporary tables.
func behind(p *plans.Draft, statement string) {
	for _, name := range effects.Temporary(p.Dialect, statement) {
		if p.Tables.MaybeMade == nil {
			p.Tables.MaybeMade = map[string]bool{}
		}
		p.Tables.MaybeMade[name] = true
	}
	q := reader.New(p.Dialect, statement)
	n, ok := effects.CreatesTemporary(&q)
	switch {
	case !ok:
		if !effects.LeavesTables(p.Dialect, statement) {
			p.Tables.MadeTables, p.Tables.MovedTables = nil, true
		}
	case !p.Tables.SetsPath:
		n.Start += p.Split.StatementStart
		n.End += p.Split.StatementStart
		if inserts.IsMade(p, n) {
			return
		}
		if p.Tables.MadeTables == nil {
			p.Tables.MadeTables = map[string][]reader.Name{}
		}
		p.Tables.MadeTables[n.Table] = append(p.Tables.MadeTables[n.Table], n)
	}
}

// QueryWithTemporary returns the plan for a query on a connection on which names may mean
// temporary tables. It calls standing for each configured table that the text names.
func QueryWithTemporary(d *dialect.Dialect, lookup plans.Lookup, query string, standing func(plans.TableName) plans.Standing) *plans.Plan {
	query = strings.Clone(query)
	p := &plans.Draft{Reader: reader.At(d, query, 0), Lookup: lookup, Tables: plans.SeenTables{Standing: standing}}
	statementsOf(p)
	return p.Plan()
}
