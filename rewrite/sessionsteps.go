package rewrite

import (
	"slices"
	"strings"
	"sync"

	"github.com/keyfill/keyfill/dialect"
)

// SessionRead is a place in a text that reads a number which the engine remembers of a
// sequence or an identity: lastval(), currval('s'), SCOPE_IDENTITY(), @@IDENTITY,
// IDENT_CURRENT('t'), s.CURRVAL and PREVIOUS VALUE FOR s. LAST_INSERT_ID(), which keyfill
// sets, and SQLite's last_insert_rowid(), which is the filled key, are none.
type SessionRead struct {
	Offset int
	Text   string // the read as it stands, without its arguments: "lastval()", "s.currval"

	// Of is what is read by name: the parts of a sequence's name, or those of a table's
	// and then its column where Column is set; nil for the last number of the session,
	// whatever gave it.
	Of     []string
	Table  bool   // Of is a table's name
	Column string // of that table; "" for the one that the engine numbers

	// Unknown says that the name is known to the engine alone: an argument, an expression.
	Unknown bool
}

// SessionStep is one statement of a text, as far as it matters for such numbers.
type SessionStep struct {
	Start, End int
	Reads      []SessionRead

	// Keeps says that the statement draws no number of a sequence or identity: it calls
	// nothing but functions that are known, reads no table or view, and writes nothing.
	Keeps bool

	// Quiet says that it is an INSERT whose own values draw none.
	Quiet bool
}

// SessionSteps returns the statements of a text.
func SessionSteps(d *dialect.Dialect, text string) []SessionStep {
	p := newReader(d, text)
	r := &stepReader{reader: &p}
	var steps []SessionStep
	for r.tok.kind != tokEnd {
		if r.acceptPunct(';') {
			continue
		}
		steps = append(steps, r.step())
	}
	return steps
}

// MayReadSession reports whether a text may read such a number, by its words.
func MayReadSession(d *dialect.Dialect, text string) bool { return readsOf(d, text)&ReadsLastKey != 0 }

// EndsSession reports whether a text surely reads no such number and may draw one, on
// PostgreSQL and MariaDB: an INSERT mostly. It does not read the whole text.
func EndsSession(d *dialect.Dialect, text string) bool {
	for _, v := range []byte("vV") {
		for at := strings.IndexByte(text, v); at >= 0; {
			// It is that of lastval, currval or PREVIOUS VALUE.
			if at > 0 && strings.IndexByte("tTrReE", text[at-1]) >= 0 {
				return false
			}
			next := strings.IndexByte(text[at+1:], v)
			if next < 0 {
				break
			}
			at += 1 + next
		}
	}
	p := newReader(d, text)
	return !p.isIn(keepingVerbs) && !p.isWord("rollback") && p.tok.kind == tokWord
}

// IsQuiet reports whether the text is one INSERT whose own values draw no number of a sequence
// or identity. It is read at the first call and kept.
func (pl *Plan) IsQuiet() bool {
	pl.quiet.once.Do(func() {
		steps := SessionSteps(pl.Dialect, pl.query)
		pl.quiet.is = len(steps) == 1 && steps[0].Quiet
	})
	return pl.quiet.is
}

// lazyQuiet is whether a text is quiet, once it was asked for.
type lazyQuiet struct {
	once sync.Once
	is   bool
}

// stepReader reads a text for its steps.
type stepReader struct {
	*reader
	before, last token // the tokens in front of the current one
}

// keepingVerbs begin statements that draw no number.
var keepingVerbs = newWordSet("select values savepoint release show")

// step reads one statement.
func (r *stepReader) step() SessionStep {
	s := SessionStep{Start: r.tok.start}
	s.Keeps = r.isIn(keepingVerbs)
	if r.isWord("rollback") {
		// ROLLBACK alone ends what the mark was for.
		s.Keeps = r.nextIs("to")
	}
	insert, values := r.isWord("insert"), false
	s.Quiet = insert
	for r.before, r.last = (token{}), (token{}); r.tok.kind != tokEnd && !r.isPunct(';'); {
		switch r.tok.kind {
		case tokExec, tokError:
			s.Keeps, s.Quiet = false, false
		case tokVar:
			if r.isVariable("identity") && r.d.Lexis.ServerVariables && !r.d.Lexis.UserVariables {
				s.Reads = append(s.Reads, SessionRead{Offset: r.tok.start, Text: "@@IDENTITY"})
			}
		case tokWord:
			switch {
			case r.isAny("from", "join", "into", "for", "next", "nextval") && !(insert && r.isWord("into")):
				s.Keeps = s.Keeps && (r.isWord("for") && equalWord(r.text(r.last), "value"))
				s.Quiet = s.Quiet && !r.isAny("next", "nextval", "from", "join")
			case r.isAny("select", "with", "table", "update") && r.tok.start > s.Start:
				s.Keeps, s.Quiet, values = false, false, true
			case insert && r.isAny("values", "value"):
				values = true
			}
			s.Reads = append(s.Reads, r.namedRead()...)
		case tokPunct:
			if !r.isPunct('(') || insert && !values || r.last.kind != tokWord && r.last.kind != tokQuoted {
				break
			}
			if read, ok := r.callRead(); ok {
				s.Reads = append(s.Reads, read)
			} else if !r.knownCall() {
				s.Keeps, s.Quiet = false, false
			}
		}
		r.before, r.last = r.last, r.tok
		r.advance()
	}
	s.End = r.prev
	return s
}

// knownCall reports whether the bracket here opens no call, or that of a function of the
// engine which draws no number.
func (r *stepReader) knownCall() bool {
	name := r.text(r.last)
	dot := r.text(r.before) == "."
	if r.last.kind != tokWord || dot {
		return false
	}
	if equalAny(name, "nextval", "setval") {
		return false
	}
	return notCalls.has(name) || bracketWords.has(name) || builtins.has(name) || scalarFunctions.has(name) || equalAny(name, "pg_get_serial_sequence", "lastval", "currval")
}

// namedRead returns what a word reads that is no call: s.CURRVAL, PREVIOUS VALUE FOR s.
func (r *stepReader) namedRead() []SessionRead {
	switch {
	case r.isWord("currval") && r.text(r.last) == "." && !r.nextIsPunct('('):
		name := r.nameBefore()
		if name == nil {
			return nil
		}
		return []SessionRead{{Offset: r.tok.start, Text: strings.Join(name, ".") + ".CURRVAL", Of: name}}
	case r.isWord("for") && equalWord(r.text(r.last), "value") && equalWord(r.text(r.before), "previous"):
		q := *r.reader
		q.advance()
		return []SessionRead{{Offset: r.before.start, Text: "PREVIOUS VALUE FOR", Of: q.nameHere()}}
	}
	return nil
}

// nameBefore returns the name in front of the point before the current word.
func (r *stepReader) nameBefore() []string {
	q := newReader(r.d, r.q[:r.last.start])
	var tokens []token
	for ; q.tok.kind != tokEnd; q.advance() {
		tokens = append(tokens, q.tok)
	}
	var name []string
	for i := len(tokens) - 1; i >= 0; i -= 2 {
		if tokens[i].kind != tokWord && tokens[i].kind != tokQuoted {
			break
		}
		name = append(name, r.folded(tokens[i]))
		if i == 0 || r.text(tokens[i-1]) != "." {
			break
		}
	}
	slices.Reverse(name)
	return name
}

// nameHere returns the parts of the name that begins here.
func (p *reader) nameHere() (name []string) {
	for p.tok.kind == tokWord || p.tok.kind == tokQuoted {
		name = append(name, p.folded(p.tok))
		if p.advance(); !p.acceptPunct('.') {
			break
		}
	}
	return name
}

// callRead returns what the call reads whose bracket is the current token.
func (r *stepReader) callRead() (SessionRead, bool) {
	name := strings.ToLower(strings.Trim(r.text(r.last), "`\"[]"))
	if r.text(r.before) == "." && !strings.HasSuffix(strings.ToLower(strings.TrimRight(r.q[:r.before.start], " ")), "pg_catalog") {
		return SessionRead{}, false // the application's own function
	}
	read := SessionRead{Offset: r.last.start, Text: r.text(r.last) + "()"}
	q := *r.reader
	q.advance()
	any := q.isPunct(')')
	switch family := r.d.Family; {
	case name == "lastval" && any && family == dialect.FamilyPostgreSQL, name == "scope_identity" && any && r.d.Name == "sqlserver":
		return read, true
	case name == "lastval" && !any && family == dialect.FamilyMySQL:
		read.Of = q.nameHere()
		return read, read.Of != nil
	case name == "currval" && !any && family == dialect.FamilyPostgreSQL, name == "ident_current" && r.d.Name == "sqlserver":
		read.Table = name == "ident_current"
		read.argument(&q)
		return read, true
	}
	return SessionRead{}, false
}

// argument reads what currval or IDENT_CURRENT is of.
func (s *SessionRead) argument(q *reader) {
	if q.isWord("pg_get_serial_sequence") && q.nextIsPunct('(') {
		q.advance()
		q.advance()
		if q.tok.kind == tokString {
			s.Of, s.Table = q.nameIn(), true
			if q.advance(); q.acceptPunct(',') && q.tok.kind == tokString {
				s.Column = strings.Trim(q.text(q.tok), "'")
				return
			}
		}
		s.Of, s.Unknown = nil, true
		return
	}
	if q.tok.kind == tokString {
		s.Of = q.nameIn()
		q.advance()
		for q.acceptPunct(':') {
			q.typeName()
		}
	}
	s.Unknown = s.Of == nil || !q.isPunct(')')
}

// nameIn returns the parts of the name in the string here.
func (p *reader) nameIn() []string {
	text := p.text(p.tok)
	text = text[strings.IndexByte(text, '\'')+1:]
	q := newReader(p.d, strings.TrimSuffix(text, "'"))
	return q.nameHere()
}

// DrawnFrom returns the parts of the name of the sequence that a column's default draws from,
// nil where it does not draw from one by its name alone.
func DrawnFrom(d *dialect.Dialect, expr string) []string {
	p := newReader(d, expr)
	for p.acceptPunct('(') {
	}
	if p.accept("next") {
		if !p.accept("value") || !p.accept("for") {
			return nil
		}
		return p.nameHere()
	}
	if !p.accept("nextval") || !p.acceptPunct('(') {
		return nil
	}
	if p.tok.kind == tokString {
		return p.nameIn()
	}
	return p.nameHere()
}

// DrawsNothing reports whether an expression, such as a column's default, draws no number.
func DrawsNothing(d *dialect.Dialect, expr string) bool {
	steps := SessionSteps(d, "SELECT "+expr)
	return len(steps) == 1 && steps[0].Keeps
}

// NameOf returns the parts of a name as SQL writes it.
func NameOf(d *dialect.Dialect, name string) []string {
	p := newReader(d, name)
	return p.nameHere()
}

// Counts reports whether the engine would number a row of the INSERT by the key column's own
// default, if the key were not filled: the column is not listed, or DEFAULT stands in its
// place.
func (in *Insert) Counts() bool { return in.listing == nil || in.byDefault }
