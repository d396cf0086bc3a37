package compile

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// explain reads EXPLAIN and similar statements. An INSERT that is only explained is filled
// with an arbitrary key. PostgreSQL 18, "EXPLAIN"; MySQL 8.4, section 15.8.2; MariaDB
// Knowledge Base, "EXPLAIN" and "ANALYZE statement";
// https://www.sqlite.org/lang_explain.html.
func explain(p *plans.Draft) {
	g := &p.Dialect.Grammar
	runs, known := false, false
	switch {
	case g.Copy && p.Accept("explain"):
		runs, known = postgresExplain(&p.Reader)
	case g.OrAction && p.Accept("explain"):
		if p.Accept("query") {
			p.Accept("plan")
		}
		known = true
	case g.OnDuplicateKey:
		runs, known = mysqlExplain(&p.Reader), true
	}
	merges := g.Merge && p.IsWord("merge")
	if !known || !p.IsVerb() && !merges && !p.IsWord("with") {
		inserts.Skip(p, rewrite.ErrExplain)
		return
	}
	p.Flow.Explained = !runs
	switch {
	case merges:
		merge(p)
	case p.IsVerb():
		insert(p)
	default:
		with(p)
	}
	p.Flow.Explained = false
}

// postgresExplain reads the words between EXPLAIN and its statement. runs reports whether
// the statement runs: the last ANALYZE counts. known is false if an option or its value
// is in a form that is not read here, such as U&"\0061nalyze".
func postgresExplain(p *reader.Reader) (runs, known bool) {
	if !p.AcceptPunct('(') {
		runs = p.Accept("analyze") || p.Accept("analyse")
		p.Accept("verbose")
		return runs, true
	}
	for known = true; !p.AtEnd() && !p.IsPunct(')'); p.AcceptPunct(',') {
		option, plain := p.TextOf(p.Token), p.Token.Kind == scan.Word
		if p.Token.Kind == scan.Quoted {
			if option = strings.Trim(option, `"`); option != strings.ToLower(option) || strings.Contains(option, `"`) {
				known = false // a quote is left in U&"…", which is not read here
			}
			plain = known
		}
		known = known && plain
		p.Advance()
		value, tokens := p.Token, 0
		for !p.AtEnd() && !p.IsPunct(',') && !p.IsPunct(')') {
			tokens++
			p.Advance()
		}
		if !scan.EqualAny(option, "analyze", "analyse") {
			continue
		}
		text := strings.ToLower(strings.Trim(p.TextOf(value), `'"`))
		switch {
		case tokens == 0, tokens == 1 && scan.EqualAny(text, "true", "on", "1"):
			runs = true
		case tokens == 1 && scan.EqualAny(text, "false", "off", "0"):
			runs = false
		default:
			known = false
		}
	}
	return runs, known && p.AcceptPunct(')')
}

// mysqlExplain reads the words between EXPLAIN and its statement in MySQL and MariaDB,
// where ANALYZE may replace EXPLAIN. runs reports whether the statement runs.
func mysqlExplain(p *reader.Reader) (runs bool) {
	for {
		switch {
		case p.IsAny("analyze"):
			runs = true
			p.Advance()
		case p.IsAny("explain", "describe", "desc", "extended", "partitions"):
			p.Advance()
		case p.Accept("format"):
			p.AcceptPunct('=')
			p.Advance()
		default:
			return runs
		}
	}
}
