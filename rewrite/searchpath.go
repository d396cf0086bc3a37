package rewrite

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// LeavesPlace reports whether a text leaves where its session looks for tables
// without a schema: the current database, schema or search path. It may say no
// of a text that does, which costs the caller a question. It says no of what begins with a
// word that is not known.
//
//	MySQL, MariaDB   USE, also in EXECUTE IMMEDIATE, and DROP DATABASE; procedures put it back
//	PostgreSQL       all but what is known to leave it; any function may call set_config
//	SQLite           ATTACH and DETACH
//	SQL Server       USE, EXECUTE, REVERT
//	Oracle           ALTER SESSION SET CURRENT_SCHEMA, and blocks
//
// Not seen are triggers, rules and views whose functions change it.
func LeavesPlace(d *dialect.Dialect, query string) bool {
	return Leaves(d, query)&PlaceLeft != 0
}

// mentions reports whether a word, in lower case, stands in the text as a whole
// one.
func mentions(text, word string) bool {
	part := func(i int) bool {
		return i >= 0 && i < len(text) && text[i] < 0x80 && classes[text[i]]&(classLetter|classDigit) != 0
	}
	for i := 0; i+len(word) <= len(text); i++ {
		if text[i]|0x20 == word[0] && equalWord(text[i:i+len(word)], word) && !part(i-1) && !part(i+len(word)) {
			return true
		}
	}
	return false
}

// SetsSearchPath returns the schemas that a text of PostgreSQL, which is one SET search_path
// of names, gives the session or, with LOCAL, its transaction. ok is false for any other
// text.
func SetsSearchPath(d *dialect.Dialect, query string) (names []string, local, ok bool) {
	if d.Family != dialect.FamilyPostgreSQL || !mentions(query, "search_path") {
		return nil, false, false
	}
	p := newReader(d, query)
	if !p.accept("set") {
		return nil, false, false
	}
	if local = p.accept("local"); !local {
		p.accept("session")
	}
	if !p.accept("search_path") || !p.acceptPunct('=') && !p.accept("to") {
		return nil, false, false
	}
	for {
		switch p.tok.kind {
		case tokWord:
			if p.isWord("default") {
				return nil, false, false
			}
			names = append(names, d.Fold(p.text(p.tok), false))
		case tokQuoted, tokString:
			text := p.text(p.tok)
			if len(text) < 3 || text[0] != '"' && text[0] != '\'' || strings.Contains(text, `\`) {
				return nil, false, false // an escape, or no name
			}
			quote := text[:1]
			names = append(names, strings.ReplaceAll(text[1:len(text)-1], quote+quote, quote))
		default:
			return nil, false, false
		}
		if p.advance(); !p.acceptPunct(',') {
			break
		}
	}
	p.acceptPunct(';')
	return names, local, p.tok.kind == tokEnd
}

// MakesNames reports whether a text has a statement that may make, rename or drop a table:
// one that begins with CREATE, ALTER or DROP. Not seen is what functions do.
func MakesNames(d *dialect.Dialect, query string) bool {
	return Leaves(d, query)&NamesLeft == 0
}

// nameMakers are the first words of the statements that make, rename and drop tables.
var nameMakers = []string{"create", "alter", "drop"}

// MovesPlace reports whether the statements in a text may change where the ones behind
// them look for tables without a schema. Where [LeavesPlace] says no of what costs a
// question only, this is about INSERTs that could not be filled: a function of
// PostgreSQL's whose name is not known to it is not taken for one that does.
//
//	MySQL, MariaDB   USE, EXECUTE, DROP DATABASE, and comments that the server runs
//	PostgreSQL       what is about search_path, schemas and roles; where the path was
//	                 changed before in the transaction, its end
//	SQL Server       USE, EXECUTE AS, REVERT and SETUSER, with any statement around them
//	Oracle           ALTER SESSION SET CURRENT_SCHEMA
//
// SQLite looks in main first, which stays.
func MovesPlace(d *dialect.Dialect, text string, changed bool) bool {
	switch d.Family {
	case dialect.FamilySQLite:
		return false
	case dialect.FamilyMySQL:
		if !mentionsAny(text, mysqlWords.moves) {
			return false
		}
	case dialect.FamilyPostgreSQL:
		if Leaves(d, text)&wayLeft != 0 && !changed {
			return false
		}
		return mentionsAny(text, pathChanges) || changed && mentionsAny(text, pathEnds)
	case dialect.FamilyOracle:
		return mentions(text, "current_schema")
	}
	p := newReader(d, text)
	begins := true // a statement
	for ; p.tok.kind != tokEnd; p.advance() {
		switch {
		case p.tok.kind == tokError:
			return true
		case p.tok.kind == tokExec:
			if mentionsAny(p.text(p.tok), mysqlWords.moves) {
				return true
			}
			continue
		case d.Grammar.NoSemicolon && p.movesHere(), !d.Grammar.NoSemicolon && begins && p.isAny("use", "execute", "drop"):
			return true
		}
		begins = p.isPunct(';')
	}
	return false
}

// movesHere reports whether the word here changes the current database, or the user, of
// a session of SQL Server. What EXECUTE changes otherwise ends with it.
func (p *reader) movesHere() bool {
	switch {
	case p.isAny("revert", "setuser"):
		return true
	case p.isWord("use"):
		q := *p
		q.advance()
		return !q.isAny("hint", "plan") // OPTION (USE HINT ('…'))
	case p.isAny("exec", "execute"):
		q := *p
		q.advance()
		return q.isWord("as")
	}
	return false
}

// pathChanges are the words without which no statement of PostgreSQL is known to change
// the search path, or the schema that $user stands for in it. pathEnds are the first
// words of the statements that take back what a transaction has changed.
var (
	pathChanges = []string{"search_path", "set_config", "schema", "role", "authorization", "discard", "reset"}
	pathEnds    = []string{"commit", "end", "rollback", "abort"}
)

func mentionsAny(text string, words []string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return mentions(text, word) })
}
