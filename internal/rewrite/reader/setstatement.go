package reader

import (
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// SetsStatement reports whether MariaDB's SET STATEMENT begins at the current token:
// Knowledge Base, "SET STATEMENT". Its settings hold only for the statement after FOR.
func (p *Reader) SetsStatement() bool {
	return p.Dialect.Grammar.StatementSettings != nil && p.IsWord("set") && p.NextIs("statement")
}

// SettingsAt returns the offset of the first setting of the SET STATEMENT that begins at
// the current token.
func (p *Reader) SettingsAt() int {
	s := p.Scanner
	s.Following()
	return s.Following().Start
}

// StatementSettings reads SET STATEMENT up to the statement after FOR, and reports whether
// all its settings leave an INSERT unchanged. If a setting may change an INSERT, it stops
// at that setting.
func (p *Reader) StatementSettings() bool {
	p.Advance()
	p.Advance()
	for {
		if p.Token.Kind != scan.Word || !p.IsAny(p.Dialect.Grammar.StatementSettings...) {
			return false
		}
		q := *p
		q.Advance()
		q.AcceptPunct(':')
		if !q.AcceptPunct('=') {
			return false
		}
		_ = q.AcceptPunct('-') || q.AcceptPunct('+')
		if !q.AcceptAny(scan.Number, scan.String, scan.Word) {
			return false
		}
		ends := q.IsWord("for")
		if !ends && !q.IsPunct(',') {
			return false
		}
		q.Advance()
		if *p = q; ends {
			return true
		}
	}
}
