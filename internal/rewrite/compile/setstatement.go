package compile

import (
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// setStatement reads SET STATEMENT and the statement after it. An INSERT there is refused
// unless every setting only affects how long the INSERT may take, or how it is planned and
// logged, and is a plain value. An expression may have an effect of its own, and keyfill
// does not send it when it counts the rows of a query.
func setStatement(p *plans.Draft) {
	at := p.SettingsAt()
	if !p.StatementSettings() {
		inserts.Skip(p, rewrite.ErrStatementSetting)
		return
	}
	p.Split.SettingsStart, p.Split.SettingsFor = at, p.Token.Start
	switch {
	case p.IsVerb():
		insert(p)
	case p.IsWord("with"):
		with(p)
	case p.SetsStatement():
		setStatement(p)
	case p.IsAny("explain", "describe", "desc", "analyze"):
		explain(p)
	case p.IsWord("prepare"):
		prepare(p)
	default:
		inserts.Skip(p, inserts.InnerReason(p))
	}
}
