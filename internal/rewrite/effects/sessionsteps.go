package effects

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// SessionRead is a place in a text that reads a number which the engine remembers for a
// sequence or an identity: lastval(), currval('s'), SCOPE_IDENTITY(), @@IDENTITY,
// IDENT_CURRENT('t'), s.CURRVAL and PREVIOUS VALUE FOR s. It is never LAST_INSERT_ID(),
// which keyfill sets, or SQLite's last_insert_rowid(), which is the filled key.
type SessionRead struct {
	Offset int
	Text   string // the read as written, without its arguments: "lastval()", "s.currval"

	// Of is the name whose number is read: the parts of a sequence's name, or of a table's
	// name if Table is set. It is nil for the last number of the session, from any sequence.
	Of     []string
	Table  bool   // whether Of is a table's name
	Column string // a column of that table; empty for the column that the engine numbers

	// Unknown means that only the engine knows the name, because it is an argument or an
	// expression.
	Unknown bool
}

// SessionStep is one statement of a text, with its use of the numbers that the engine
// remembers for sequences and identities.
type SessionStep struct {
	Start, End int
	Reads      []SessionRead

	// Keeps means that the statement draws no number of a sequence or identity: it calls only
	// known functions, reads no table or view, and writes nothing.
	Keeps bool

	// Quiet means that the statement is an INSERT whose own values draw no number.
	Quiet bool
}

// SessionSteps returns the statements of a text, in order, with their use of the numbers
// that the engine remembers for sequences.
func SessionSteps(d *dialect.Dialect, text string) []SessionStep {
	p := reader.New(d, text)
	r := &stepReader{Reader: &p}
	var steps []SessionStep
	for r.Token.Kind != scan.End {
		if r.AcceptPunct(';') {
			continue
		}
		steps = append(steps, r.step())
	}
	return steps
}

// MayReadSession reports whether a text, judged by its words, may read a number that the
// engine remembers for a sequence or an identity.
func MayReadSession(d *dialect.Dialect, text string) bool { return ReadsOf(d, text)&ReadsLastKey != 0 }

// EndsSession reports whether a text surely does not read the number that the engine
// remembers for a sequence, and may draw a new one, on PostgreSQL and MariaDB: mostly an
// INSERT. It does not read the whole text.
func EndsSession(d *dialect.Dialect, text string) bool {
	for _, v := range []byte("vV") {
		for at := strings.IndexByte(text, v); at >= 0; {
			// The v may be in lastval, currval or PREVIOUS VALUE.
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
	p := reader.New(d, text)
	return !p.IsIn(keepingVerbs) && !p.IsWord("rollback") && p.Token.Kind == scan.Word
}

// stepReader reads the statements of a text one by one.
type stepReader struct {
	*reader.Reader
	before, last scan.Token // the two tokens before the current one
}

// keepingVerbs begin statements that draw no number of a sequence.
var keepingVerbs = scan.NewWordSet("select values savepoint release show")

// step reads one statement.
func (r *stepReader) step() SessionStep {
	s := SessionStep{Start: r.Token.Start}
	s.Keeps = r.IsIn(keepingVerbs)
	if r.IsWord("rollback") {
		// ROLLBACK TO keeps the number; a plain ROLLBACK undoes the INSERT that drew it.
		s.Keeps = r.NextIs("to")
	}
	insert, values := r.IsWord("insert"), false
	s.Quiet = insert
	for r.before, r.last = (scan.Token{}), (scan.Token{}); r.Token.Kind != scan.End && !r.IsPunct(';'); {
		switch r.Token.Kind {
		case scan.Executable, scan.Broken:
			s.Keeps, s.Quiet = false, false
		case scan.Variable:
			if r.IsVariable("identity") && r.Dialect.Lexis.ServerVariables && !r.Dialect.Lexis.UserVariables {
				s.Reads = append(s.Reads, SessionRead{Offset: r.Token.Start, Text: "@@IDENTITY"})
			}
		case scan.Word:
			switch {
			case r.IsAny("from", "join", "into", "for", "next", "nextval") && !(insert && r.IsWord("into")):
				s.Keeps = s.Keeps && (r.IsWord("for") && scan.EqualWord(r.TextOf(r.last), "value"))
				s.Quiet = s.Quiet && !r.IsAny("next", "nextval", "from", "join")
			case r.IsAny("select", "with", "table", "update") && r.Token.Start > s.Start:
				s.Keeps, s.Quiet, values = false, false, true
			case insert && r.IsAny("values", "value"):
				values = true
			}
			s.Reads = append(s.Reads, r.namedRead()...)
		case scan.Punct:
			if !r.IsPunct('(') || insert && !values || r.last.Kind != scan.Word && r.last.Kind != scan.Quoted {
				break
			}
			if read, ok := r.callRead(); ok {
				s.Reads = append(s.Reads, read)
			} else if !r.knownCall() {
				s.Keeps, s.Quiet = false, false
			}
		}
		r.before, r.last = r.last, r.Token
		r.Advance()
	}
	s.End = r.PrevEnd
	return s
}

// knownCall reports whether the bracket at the current token opens no call, or a call of a
// function of the engine that draws no number.
func (r *stepReader) knownCall() bool {
	name := r.TextOf(r.last)
	dot := r.TextOf(r.before) == "."
	if r.last.Kind != scan.Word || dot {
		return false
	}
	if scan.EqualAny(name, "nextval", "setval") {
		return false
	}
	return words.NotCalls.Has(name) || words.BracketWords.Has(name) || words.Builtins.Has(name) || words.ScalarFunctions.Has(name) || scan.EqualAny(name, "pg_get_serial_sequence", "lastval", "currval")
}

// namedRead returns what the current word reads without a call: s.CURRVAL, or PREVIOUS
// VALUE FOR s. It is nil for any other word.
func (r *stepReader) namedRead() []SessionRead {
	switch {
	case r.IsWord("currval") && r.TextOf(r.last) == "." && !r.NextIsPunct('('):
		name := r.nameBefore()
		if name == nil {
			return nil
		}
		return []SessionRead{{Offset: r.Token.Start, Text: strings.Join(name, ".") + ".CURRVAL", Of: name}}
	case r.IsWord("for") && scan.EqualWord(r.TextOf(r.last), "value") && scan.EqualWord(r.TextOf(r.before), "previous"):
		q := *r.Reader
		q.Advance()
		return []SessionRead{{Offset: r.before.Start, Text: "PREVIOUS VALUE FOR", Of: q.NameHere()}}
	}
	return nil
}

// nameBefore returns the parts of the name before the point that precedes the current
// token.
func (r *stepReader) nameBefore() []string {
	q := reader.New(r.Dialect, r.Text[:r.last.Start])
	var tokens []scan.Token
	for ; q.Token.Kind != scan.End; q.Advance() {
		tokens = append(tokens, q.Token)
	}
	var name []string
	for i := len(tokens) - 1; i >= 0; i -= 2 {
		if tokens[i].Kind != scan.Word && tokens[i].Kind != scan.Quoted {
			break
		}
		name = append(name, r.Folded(tokens[i]))
		if i == 0 || r.TextOf(tokens[i-1]) != "." {
			break
		}
	}
	slices.Reverse(name)
	return name
}

// callRead returns the remembered number that a call reads, and whether it reads one. The
// bracket of the call is the current token.
func (r *stepReader) callRead() (SessionRead, bool) {
	name := strings.ToLower(strings.Trim(r.TextOf(r.last), "`\"[]"))
	if r.TextOf(r.before) == "." && !strings.HasSuffix(strings.ToLower(strings.TrimRight(r.Text[:r.before.Start], " ")), "pg_catalog") {
		return SessionRead{}, false // the application's own function
	}
	read := SessionRead{Offset: r.last.Start, Text: r.TextOf(r.last) + "()"}
	q := *r.Reader
	q.Advance()
	of, ok := words.Of(r.Dialect).NumberOf(name, q.IsPunct(')'))
	switch {
	case !ok:
		return SessionRead{}, false
	case of == words.NumberName:
		read.Of = q.NameHere()
		return read, read.Of != nil
	case of != words.NumberLast:
		read.Table = of == words.NumberTable
		read.argument(&q)
	}
	return read, true
}

// argument reads the argument of currval or IDENT_CURRENT.
func (s *SessionRead) argument(q *reader.Reader) {
	if q.IsWord("pg_get_serial_sequence") && q.NextIsPunct('(') {
		q.Advance()
		q.Advance()
		if q.Token.Kind == scan.String {
			s.Of, s.Table = q.NameIn(), true
			if q.Advance(); q.AcceptPunct(',') && q.Token.Kind == scan.String {
				s.Column = strings.Trim(q.TextOf(q.Token), "'")
				return
			}
		}
		s.Of, s.Unknown = nil, true
		return
	}
	if q.Token.Kind == scan.String {
		s.Of = q.NameIn()
		q.Advance()
		for q.AcceptPunct(':') {
			q.TypeName()
		}
	}
	s.Unknown = s.Of == nil || !q.IsPunct(')')
}

// DrawnFrom returns the parts of the name of the sequence from which a column's default
// draws. It is nil unless the default is nextval or NEXT VALUE FOR with that name.
func DrawnFrom(d *dialect.Dialect, expr string) []string {
	p := reader.New(d, expr)
	for p.AcceptPunct('(') {
	}
	if p.Accept("next") {
		if !p.Accept("value") || !p.Accept("for") {
			return nil
		}
		return p.NameHere()
	}
	if !p.Accept("nextval") || !p.AcceptPunct('(') {
		return nil
	}
	if p.Token.Kind == scan.String {
		return p.NameIn()
	}
	return p.NameHere()
}

// DrawsNothing reports whether an expression, such as a column's default, draws no number
// of a sequence.
func DrawsNothing(d *dialect.Dialect, expr string) bool {
	steps := SessionSteps(d, "SELECT "+expr)
	return len(steps) == 1 && steps[0].Keeps
}

// NameOf returns the parts of a qualified name that is written as in SQL.
func NameOf(d *dialect.Dialect, name string) []string {
	p := reader.New(d, name)
	return p.NameHere()
}
