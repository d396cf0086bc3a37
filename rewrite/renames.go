package rewrite

import "github.com/keyfill/keyfill/dialect"

// Renames reports whether a text may give the rows of one table to the name of
// another one: by RENAME, sp_rename or EXCHANGE PARTITION. It is for texts with
// [ConcernsNames]. Renames does not see what is in strings and in the bodies of routines.
// It answers true for a column that is renamed, too.
func Renames(d *dialect.Dialect, query string) bool {
	p := &parser{scanner: scanner{d: d, q: opened(d, query)}}
	rows := false // the statement is about rows, where such a word is a name
	for p.read(); p.tok.kind != tokEnd; {
		if p.acceptPunct(';') {
			continue
		}
		rows = p.isIn(rowWords) && !d.Grammar.NoSemicolon && !d.Grammar.PLSQL
		for ; !p.atEnd(); p.advance() {
			if !rows && p.tok.kind == tokWord && p.isAny("rename", "sp_rename", "exchange") {
				return true
			}
		}
	}
	return false
}
