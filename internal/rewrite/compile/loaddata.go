package compile

import (
	"github.com/keyfill/keyfill/internal/rewrite/inserts"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// load reads MySQL's LOAD DATA … INTO TABLE t … (a, b).
func load(p *plans.Draft) {
	at := p.Token.Start
	for !p.AtEnd() && !p.IsWord("into") {
		p.Advance()
	}
	p.Advance()
	if !p.Accept("table") {
		inserts.Skip(p, inserts.InnerReason(p))
		return
	}
	if p.Token.Kind == scan.Executable {
		if t := inserts.Mentioned(p, p.Text[at:]); t != nil {
			p.Refuse(t, at, rewrite.ErrExecutableComment)
		}
	}
	if n, ok := p.TableName(); ok {
		if t, _ := inserts.Target(p, n); t != nil {
			q := p.Reader
			inserts.Loaded(p, t, at, loadedColumns(&q), rewrite.ErrBulk)
		}
	}
	inserts.Skip(p, inserts.InnerReason(p))
}

// loadedColumns returns the column list of LOAD DATA, which it reads from after the
// table's name. Before SET, only PARTITION may have brackets besides the column
// list.
func loadedColumns(p *reader.Reader) []string {
	for !p.AtEnd() && !p.IsWord("set") {
		switch {
		case p.Accept("partition"):
			p.Brackets()
		case p.IsPunct('('):
			return p.Names()
		default:
			p.Advance()
		}
	}
	return nil
}
