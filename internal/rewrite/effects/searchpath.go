package effects

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// LeavesPlace reports whether a text leaves unchanged where its session looks for tables
// that are named without a schema: the current database, schema or search path. If it is
// false by mistake, the caller only asks the server. It is false for statements with an
// unknown first word. These statements change it:
//
//	MySQL, MariaDB   USE, also in EXECUTE IMMEDIATE, and DROP DATABASE; the server restores it after procedures
//	PostgreSQL       all statements except those that are known not to; any function may call set_config
//	SQLite           ATTACH and DETACH
//	SQL Server       USE, EXECUTE, REVERT
//	Oracle           ALTER SESSION SET CURRENT_SCHEMA, and blocks
//
// LeavesPlace does not notice triggers, rules and views whose functions change it.
func LeavesPlace(d *dialect.Dialect, query string) bool {
	return Leaves(d, query)&words.PlaceLeft != 0
}

// SetsSearchPath returns the schemas that a text names, if the whole text is one PostgreSQL
// SET search_path of names. local reports SET LOCAL, which holds for the transaction only.
// ok is false for any other text.
func SetsSearchPath(d *dialect.Dialect, query string) (names []string, local, ok bool) {
	path := words.Of(d).Path
	if path == "" || !words.Mentions(query, path) {
		return nil, false, false
	}
	p := reader.New(d, query)
	if !p.Accept("set") {
		return nil, false, false
	}
	if local = p.Accept("local"); !local {
		p.Accept("session")
	}
	if !p.Accept(path) || !p.AcceptPunct('=') && !p.Accept("to") {
		return nil, false, false
	}
	for {
		switch p.Token.Kind {
		case scan.Word:
			if p.IsWord("default") {
				return nil, false, false
			}
			names = append(names, d.Fold(p.TextOf(p.Token), false))
		case scan.Quoted, scan.String:
			text := p.TextOf(p.Token)
			if len(text) < 3 || text[0] != '"' && text[0] != '\'' || strings.Contains(text, `\`) {
				return nil, false, false // the name has an escape, or is empty
			}
			quote := text[:1]
			names = append(names, strings.ReplaceAll(text[1:len(text)-1], quote+quote, quote))
		default:
			return nil, false, false
		}
		if p.Advance(); !p.AcceptPunct(',') {
			break
		}
	}
	p.AcceptPunct(';')
	return names, local, p.Token.Kind == scan.End
}

// MakesNames reports whether a text has a statement that may make, rename or drop a table:
// one that begins with CREATE, ALTER or DROP. It does not notice functions that do so.
func MakesNames(d *dialect.Dialect, query string) bool {
	return Leaves(d, query)&words.NamesLeft == 0
}

// MovesPlace reports whether the statements in a text may change where later statements of
// it look for tables that are named without a schema. changed says that the transaction has
// changed that before. [LeavesPlace] is more careful, since its false costs only a
// question. If MovesPlace is true, INSERTs cannot be filled, so unknown functions of
// PostgreSQL are assumed to change nothing.
//
//	MySQL, MariaDB   USE, EXECUTE, DROP DATABASE, and comments that the server runs
//	PostgreSQL       statements about search_path, schemas and roles; commit and rollback
//	                 if the transaction changed the path before
//	SQL Server       USE, EXECUTE AS, REVERT and SETUSER, with any statement around them
//	Oracle           ALTER SESSION SET CURRENT_SCHEMA
//
// SQLite always looks in main first.
func MovesPlace(d *dialect.Dialect, text string, changed bool) bool {
	v := words.Of(d)
	m := &v.Moving
	switch {
	case m.Words != nil && !words.MentionsAny(text, m.Words) && !(changed && words.MentionsAny(text, m.Ends)):
		return false
	case m.Begins == nil:
		// Where functions may change the search path, Leaves reads which functions the text
		// calls.
		return changed || v.Calls&words.WayLeft == 0 || Leaves(d, text)&words.WayLeft == 0
	}
	p := reader.New(d, text)
	begins := true // whether a statement begins at the current token
	for ; p.Token.Kind != scan.End; p.Advance() {
		switch {
		case p.Token.Kind == scan.Broken:
			return true
		case p.Token.Kind == scan.Executable:
			if words.MentionsAny(p.TextOf(p.Token), m.Words) {
				return true
			}
			continue
		case p.IsAny(m.Begins...) && (d.Grammar.NoSemicolon && movesHere(&p) || !d.Grammar.NoSemicolon && begins):
			return true
		}
		begins = p.IsPunct(';')
	}
	return false
}

// movesHere reports whether the current word changes the current database, or the user, of
// a SQL Server session. Other changes that EXECUTE makes end with the EXECUTE.
func movesHere(p *reader.Reader) bool {
	switch {
	case p.IsAny("revert", "setuser"):
		return true
	case p.IsWord("use"):
		q := *p
		q.Advance()
		return !q.IsAny("hint", "plan") // OPTION (USE HINT ('…')) is no USE statement
	case p.IsAny("exec", "execute"):
		q := *p
		q.Advance()
		return q.IsWord("as")
	}
	return false
}
