package inserts

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/selects"
)

// These values count as "no key": NULL, and the value that a program sends for "not set": 0
// for integers, and the empty string or the zero UUID for other keys. A literal also counts
// with casts, as uuid '…', or as the argument of a function that reads a UUID's text.

// nothing says why a value is no key.
type nothing uint8

const (
	someKey nothing = iota // the value may be a key
	nullKey
	zeroKey
)

// isNothing reports whether a value of several tokens counts as "no key".
func isNothing(p *reader.Reader, v reader.Value, k *plans.Key) bool {
	q := p.Within(v.Span)
	return whyNoKey(&q, k, 0) != someKey && q.Token.Kind == scan.End
}

// whyNoKey moves past a value, and returns why it counts as "no key".
func whyNoKey(p *reader.Reader, k *plans.Key, depth int) nothing {
	if depth > selects.MaxBrackets {
		return someKey
	}
	n := withoutCasts(p, k, depth)
	for p.Dialect.Lexis.ColonCasts && p.IsPunct(':') {
		if p.Advance(); !p.AcceptPunct(':') {
			return someKey
		}
		n = castTo(p, n)
	}
	return n
}

// withoutCasts moves past the part of a value before a ::type, and returns why that part
// counts as "no key": see [whyNoKey].
func withoutCasts(p *reader.Reader, k *plans.Key, depth int) (n nothing) {
	switch {
	case p.AcceptPunct('('):
		n = whyNoKey(p, k, depth+1)
	case p.Accept("cast"):
		if p.AcceptPunct('(') {
			n = whyNoKey(p, k, depth+1)
		}
		if !p.Accept("as") {
			return someKey
		}
		n = castTo(p, n)
	case p.IsWord("convert") && p.Dialect.Grammar.NoSemicolon:
		p.Advance()
		if p.AcceptPunct('('); castTo(p, zeroKey) == zeroKey && p.AcceptPunct(',') {
			n = whyNoKey(p, k, depth+1)
		}
	case p.IsAny("uuid_to_bin", "hextoraw", "unhex") && p.NextIsPunct('('):
		p.Advance()
		p.Advance()
		if p.Token.Kind == scan.String && p.TextOf(p.Token) != "''" && !k.Integer {
			n = literal(p, k)
		}
		if p.AcceptPunct(',') {
			p.Advance() // UUID_TO_BIN's swap_flag
		}
	case p.Token.Kind == scan.Word && p.Dialect.Lexis.ColonCasts && !p.IsWord("null"):
		// a literal after its type, as in uuid '…' or bigint '0'
		if castTo(p, zeroKey) == zeroKey && p.Token.Kind == scan.String {
			return literal(p, k)
		}
		return someKey
	default:
		return literal(p, k)
	}
	if !p.AcceptPunct(')') {
		return someKey
	}
	return n
}

// literal moves past a literal, and returns why it counts as "no key".
func literal(p *reader.Reader, k *plans.Key) nothing {
	sign := p.AcceptPunct('-') || p.AcceptPunct('+')
	t := p.Token
	p.Advance()
	switch {
	case t.Kind == scan.Number, t.Kind == scan.String && !sign:
		if k.Fill&plans.FillZero != 0 && plans.ZeroLiteral(p.TextOf(t), t.Kind, k.Integer) {
			return zeroKey
		}
	case t.Kind == scan.Word && !sign && scan.EqualWord(p.TextOf(t), "null") && k.Fill&plans.FillNull != 0:
		return nullKey
	case t.Kind == scan.Word && !sign && isFalse(p, t, k):
		return zeroKey
	}
	return someKey
}

// isFalse reports whether a word is FALSE, which is the number 0, and the key is an
// integer.
func isFalse(p *reader.Reader, t scan.Token, k *plans.Key) bool {
	return p.Dialect.Grammar.FalseIsZero && k.Integer && k.Fill&plans.FillZero != 0 && scan.EqualWord(p.TextOf(t), "false")
}

// castTo moves past the name of a type. n is why a value counts as "no key" before the cast
// to that type; castTo returns why it does afterwards. The characters of a zero UUID are
// another value as bytes.
func castTo(p *reader.Reader, n nothing) nothing {
	at := p.Token
	for p.Token.Kind == scan.Word && !p.IsWord("as") || p.Token.Kind == scan.Quoted || p.IsPunct('.') {
		if n == zeroKey && p.IsAny("binary", "varbinary", "raw", "bytea", "blob") {
			n = someKey
		}
		p.Advance()
	}
	for p.Balanced('(', ')') || p.Balanced('[', ']') {
	}
	if p.Token == at {
		return someKey
	}
	return n
}

// uncall removes the value of a key from the values that may be sets.
func (in *State) uncall(v reader.Value) {
	if n := len(in.calls); n > 0 && in.calls[n-1] == v.Span {
		in.calls = in.calls[:n-1]
	}
}

// judge decides whether the value of a key's column is a key. If it counts as "no key", or
// is a placeholder, judge queues a slot, which is a place for a key.
func judge(p *plans.Draft, in *State, key, row int, v reader.Value) {
	k := &in.Target.Keys[key]
	t, ok := p.Core(v)
	if !ok && isNothing(&p.Reader, v, k) {
		in.uncall(v)
		holds(p, v, scan.Token{Start: v.Start, End: v.End}, plans.Slot{Key: int32(key), Row: int32(row)})
		return
	}
	if !ok {
		in.Worked = in.Worked || strings.Contains(p.Text[v.Start:v.End], "@")
		in.open(key)
		return
	}
	text := p.TextOf(t)
	s := plans.Slot{Key: int32(key), Row: int32(row)}
	switch t.Kind {
	case scan.Placeholder:
		if p.IsLocal(text) {
			in.open(key)
			return
		}
		if k.Fill&(plans.FillNull|plans.FillZero) == 0 && !k.Follow {
			return
		}
		s.Kind = plans.SlotOwn
		s.Text = text
	case scan.Word:
		switch {
		case (scan.EqualWord(text, "null") || text == `\N`) && k.Fill&plans.FillNull != 0:
		case scan.EqualWord(text, "default") && k.Fill&plans.FillDefault != 0:
			in.ByDefault = true
		case isFalse(&p.Reader, t, k):
		default:
			in.open(key)
			return
		}
	case scan.Number, scan.String, scan.Quoted:
		if t.Kind == scan.Quoted && !(p.Dialect.Grammar.StringNames && text[0] == '"') {
			in.open(key)
			return
		}
		// In a row of values, a name in double quotes cannot mean a column, so SQLite reads it as
		// a string (https://www.sqlite.org/quirks.html#dblquote).
		null := p.Dialect.EmptyIsNull && text == "''" && k.Fill&plans.FillNull != 0
		if !null && (k.Fill&plans.FillZero == 0 || !plans.ZeroLiteral(text, t.Kind, k.Integer)) {
			if k.Follow {
				in.bring(key, strings.Trim(text, `'"`))
			}
			return
		}
	default:
		in.open(key)
		return
	}
	holds(p, v, t, s)
}

// holds queues a slot, which is a place for a key, that replaces a part of a value.
func holds(p *plans.Draft, v reader.Value, part scan.Token, s plans.Slot) {
	count := p.Params.Count
	p.Params.Count = v.Before
	p.Slot(part.Start, part.End, "", s)
	p.Params.Count = count
}
