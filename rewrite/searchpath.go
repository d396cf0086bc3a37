package rewrite

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// LeavesPlace reports whether a text leaves where its session looks for tables
// without a schema: the current database, schema or search path. It may say no
// of a text that does, which costs the caller a question. It allocates nothing
// but for PostgreSQL, where any function may call set_config.
//
//	MySQL, MariaDB   USE, also in EXECUTE IMMEDIATE, and DROP DATABASE; procedures put it back
//	PostgreSQL       all but what is known to leave it
//	SQLite           ATTACH and DETACH
//	SQL Server       USE, EXECUTE AS, REVERT
//	Oracle           ALTER SESSION SET CURRENT_SCHEMA, and blocks
//
// Not seen are triggers, rules and views whose functions change it.
func LeavesPlace(d *dialect.Dialect, query string) bool {
	if d.Family == dialect.FamilyPostgreSQL {
		p := &parser{scanner: scanner{d: d, q: query}}
		for p.read(); p.tok.kind != tokEnd; {
			if !p.acceptPunct(';') && !p.leavesPath() {
				return false
			}
		}
		return true
	}
	for _, word := range placeWords[d.Name] {
		if mentions(query, word) {
			return false
		}
	}
	return true
}

// placeWords are the words without which a text leaves the place, in lower case.
var placeWords = map[string][]string{
	"mysql":     {"use", "execute", "database", "schema"},
	"mariadb":   {"use", "execute", "database", "schema"},
	"sqlite":    {"attach", "detach"},
	"sqlserver": {"use", "exec", "execute", "revert", "setuser"},
	"oracle":    {"current_schema", "begin", "declare", "call", "execute"},
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
	p := &parser{scanner: scanner{d: d, q: query}}
	p.read()
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
	if !mentionsAny(query, nameMakers) {
		return false
	}
	p := &parser{scanner: scanner{d: d, q: query}}
	begins := true // a statement
	for p.read(); p.tok.kind != tokEnd; p.advance() {
		if p.tok.kind == tokError || begins && p.isAny(nameMakers...) {
			return true
		}
		begins = p.isPunct(';')
	}
	return false
}

// nameMakers are the first words of the statements that make, rename and drop tables.
var nameMakers = []string{"create", "alter", "drop"}

// leavesPath reads one statement of PostgreSQL.
func (p *parser) leavesPath() bool {
	first := p.tok
	p.advance()
	switch text := p.text(first); {
	case first.kind != tokWord:
		return false
	case pathWords.has(text):
	case equalWord(text, "set"):
		if !p.isAny("transaction", "constraints", "timezone", "time", "names", "statement_timeout", "lock_timeout", "application_name") {
			local := p.accept("local") || p.accept("session")
			if !local || !p.isAny("transaction", "constraints", "timezone", "statement_timeout", "lock_timeout", "characteristics") {
				return false
			}
		}
	case equalWord(text, "create"), equalWord(text, "alter"), equalWord(text, "drop"):
		// What a table, an index or a type is made of calls nothing that is known to
		// be in use.
		if !p.isAny("table", "index", "unique", "temp", "temporary", "view", "sequence", "type", "or") {
			return false
		}
		for ; !p.atEnd(); p.advance() {
			if p.isAny("as", "schema") {
				return false
			}
		}
		return true
	case equalWord(text, "begin"), equalWord(text, "start"), equalWord(text, "savepoint"), equalWord(text, "release"),
		equalWord(text, "commit"), equalWord(text, "end"), equalWord(text, "rollback"), equalWord(text, "abort"):
		// The caller has to look at what the end of a transaction takes back.
		for !p.atEnd() {
			p.advance()
		}
		return true
	default:
		return false
	}
	var name nameState
	if equalWord(p.text(first), "copy") || equalWord(p.text(first), "with") {
		name = nameNext
	}
	for before, last := first, first; !p.atEnd(); p.advance() {
		switch {
		case p.tok.kind == tokError:
			return false
		case p.isPunct('('):
			if name == noName && p.callsUnknown(before, last) {
				return false
			}
			name = noName
		case p.isAny("into", "as", "recursive"), name == nameRead && p.isPunct('.'):
			name = nameNext
		case name == nameNext && (p.tok.kind == tokWord || p.tok.kind == tokQuoted):
			name = nameRead
		default:
			name = noName
		}
		before, last = last, p.tok
	}
	return true
}

// nameState says whether the name of a table, a type or an alias is being read, behind
// which a bracket calls nothing.
type nameState uint8

const (
	noName   nameState = iota
	nameNext           // the next word is a part of it
	nameRead           // it may end here
)

// callsUnknown reports whether a bracket behind a token opens the arguments of a
// function that is not known to leave the search path.
func (p *parser) callsUnknown(before, last token) bool {
	switch name := p.text(last); last.kind {
	case tokWord:
		return p.text(before) == "." || !notCalls.has(name) && !bracketWords.has(name) && !pathFunctions.has(name)
	case tokQuoted:
		return true
	}
	return false
}

// pathWords begin the statements that change the search path by nothing but a
// function.
var pathWords = newWordSet(`select insert update delete merge with values table copy explain show lock listen
	notify unlisten truncate analyze vacuum prepare deallocate`)

// pathFunctions are functions of PostgreSQL that queries often call. What is
// missing costs a question.
var pathFunctions = newWordSet(`count sum avg min max array_agg string_agg json_agg jsonb_agg json_object_agg
	jsonb_object_agg bool_and bool_or every stddev variance percentile_cont percentile_disc mode
	row_number rank dense_rank percent_rank ntile lag lead first_value last_value nth_value
	coalesce nullif greatest least exists cast extract overlay position substring trim
	now clock_timestamp statement_timestamp transaction_timestamp timeofday date_trunc date_part date_bin age
	to_char to_date to_timestamp to_number make_date make_interval make_timestamp timezone isfinite
	lower upper initcap length char_length octet_length btrim ltrim rtrim substr strpos replace translate
	split_part concat concat_ws format left right lpad rpad repeat reverse starts_with md5 sha256 encode decode
	quote_ident quote_literal ascii chr regexp_replace regexp_match regexp_matches regexp_split_to_array
	abs ceil ceiling floor round trunc mod div power sqrt exp ln log sign random width_bucket
	gen_random_uuid nextval currval lastval setval hashtext hashtextextended
	pg_advisory_lock pg_advisory_xact_lock pg_advisory_unlock pg_try_advisory_lock pg_try_advisory_xact_lock
	pg_sleep pg_notify pg_is_in_recovery pg_backend_pid version current_setting current_schema current_database
	txid_current pg_current_xact_id to_regclass pg_table_is_visible pg_get_expr format_type array_to_string
	generate_series unnest array_length array_append array_prepend array_remove array_position cardinality
	string_to_array row_to_json to_json to_jsonb json_build_object jsonb_build_object json_build_array
	jsonb_build_array jsonb_set jsonb_insert jsonb_strip_nulls jsonb_typeof json_typeof jsonb_array_length
	json_array_length jsonb_array_elements jsonb_array_elements_text json_array_elements jsonb_each
	jsonb_each_text jsonb_object_keys jsonb_path_query jsonb_path_exists jsonb_to_recordset
	json_to_recordset jsonb_populate_record to_tsvector to_tsquery plainto_tsquery websearch_to_tsquery ts_rank
	ts_rank_cd ts_headline setweight int4range int8range numrange tsrange tstzrange daterange lower_inf upper_inf
	varchar char character numeric decimal bit float time timestamp timestamptz interval conflict key values
	row only tablesample system bernoulli materialized varying second`)

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
	if d.Family == dialect.FamilySQLite || LeavesPlace(d, text) && !changed {
		return false
	}
	switch d.Family {
	case dialect.FamilyPostgreSQL:
		return mentionsAny(text, pathChanges) || changed && mentionsAny(text, pathEnds)
	case dialect.FamilyOracle:
		return mentions(text, "current_schema")
	}
	p := &parser{scanner: scanner{d: d, q: text}}
	begins := true // a statement
	for p.read(); p.tok.kind != tokEnd; p.advance() {
		switch {
		case p.tok.kind == tokError:
			return true
		case p.tok.kind == tokExec:
			if mentionsAny(p.text(p.tok), placeWords[d.Name]) {
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
func (p *parser) movesHere() bool {
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
