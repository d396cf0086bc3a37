package compile

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
	"github.com/keyfill/keyfill/rewrite"
)

// Query returns the plan for a query. Equal queries give equal plans.
func Query(d *dialect.Dialect, lookup plans.Lookup, query string) *plans.Plan {
	// The plan may outlive the larger string that contains the query.
	query = strings.Clone(query)
	p := &plans.Draft{Reader: reader.At(d, query, 0), Lookup: lookup}
	statementsOf(p)
	return p.Plan()
}

// statementsOf reads all statements of the text.
func statementsOf(p *plans.Draft) {
	p.Flow.SeveralReason = rewrite.ErrSeveral
	for p.Token.Kind != scan.End {
		if p.IsPunct(';') {
			if p.Dialect.Transactions.OneByOne {
				p.Split.Semicolons = append(p.Split.Semicolons, p.Token.Start)
			}
			p.Advance()
			continue
		}
		p.Split.Semicolons = p.Split.Semicolons[:0]
		if p.Split.Statements++; p.Split.Statements > 1 && (p.Dialect.Transactions.OneByOne || p.Dialect.Transactions.Divisible) {
			p.Split.Starts = append(p.Split.Starts, p.Token.Start)
		}
		asked := p.Params.Count
		statement(p)
		if p.Params.Count > asked {
			p.Split.WithPlaceholders++
		}
	}
}

// statement reads one statement up to its semicolon.
func statement(p *plans.Draft) {
	g := &p.Dialect.Grammar
	p.With.CTEs, p.With.Outer = p.With.CTEs[:0], selects.With{}
	keepsTables(p)
	verb := p.IsVerb()
	if !verb {
		noteBeginning(p)
	}
	switch {
	case p.Flow.Procedural && controls(p):
	case p.Token.Kind == scan.Executable:
		inserts.Skip(p, rewrite.ErrExecutableComment)
	case verb:
		insert(p)
	case p.IsWord("with"):
		with(p)
	case p.SetsStatement():
		setStatement(p)
	case g.Merge && p.IsWord("merge"):
		merge(p)
	case g.Copy && p.IsWord("copy"):
		copy(p)
	case g.Load && p.IsWord("load"):
		load(p)
	case g.Bulk && isInsertBulk(&p.Reader):
		insertBulk(p)
	case g.Bulk && p.IsWord("bulk"):
		inserts.Skip(p, rewrite.ErrBulk)
	case p.IsAny("create", "alter", "drop", "grant", "revoke", "deny", "comment"):
		definition(p)
	case p.IsAny("explain", "describe", "desc", "analyze"):
		explain(p)
	case p.IsWord("prepare"):
		prepare(p)
	case g.Blocks && p.IsAny("begin", "declare", "if", "while"), inserts.OpensBlock(&p.Reader) != inserts.Unbranched:
		block(p)
	default:
		inserts.Skip(p, inserts.InnerReason(p))
	}
}
