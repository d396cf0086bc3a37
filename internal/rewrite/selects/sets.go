package selects

import (
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// IsRowConstructor reports whether a value is a row without a type, such as ROW(1, 'x')
// or (1, 'x').
func IsRowConstructor(p *reader.Reader, v scan.Span) bool {
	for range MaxBrackets {
		inner, ok := InBrackets(p, v)
		if !ok {
			return false
		}
		if q := p.Within(v); len(inner) != 1 || q.IsWord("row") {
			return true
		}
		v = inner[0]
	}
	return false
}

// IsOne reports whether a value surely is one value and no set of rows, by the engine's own
// rules: a query in brackets; CASE and COALESCE, which accept no set; and a placeholder or
// a string with casts, whose functions return none.
func IsOne(p *reader.Reader, v scan.Span) bool {
	q := p.Within(v)
	switch {
	case q.IsPunct('('):
		if n, _ := q.Peek(); n.Kind == scan.Word && scan.EqualAny(q.TextOf(n), "select", "with", "values") {
			return q.Balanced('(', ')') && q.Token.Kind == scan.End
		}
	case q.Accept("coalesce"):
		return q.Balanced('(', ')') && q.Token.Kind == scan.End
	}
	t, ok := q.CoreToken()
	Collations(&q)
	return ok && t.Kind == scan.Placeholder && q.Token.Kind == scan.End && !hasInfix(p, scan.Span{Start: t.End, End: v.End})
}

// Collations moves past COLLATE and its name after a value. COLLATE does not give the value
// a type: if the column is a number, a placeholder is a number there.
func Collations(p *reader.Reader) {
	for p.Accept("collate") {
		p.TableName()
	}
}

// hasInfix reports whether the span after a value has a word that begins an operator or the
// like. Such a word looks like a part of a type's name.
func hasInfix(p *reader.Reader, v scan.Span) bool {
	q := p.Within(v)
	for ; q.Token.Kind != scan.End; q.Read() {
		if q.IsAny("at", "like", "ilike", "similar", "is", "isnull", "notnull", "in", "between", "not",
			"overlaps", "and", "or", "operator") {
			return true
		}
	}
	return false
}

// MaxBrackets is how many nested brackets around a value are read.
const MaxBrackets = 8

// InBrackets returns the values of a row without a type, or the single value in brackets.
func InBrackets(p *reader.Reader, v scan.Span) ([]scan.Span, bool) {
	q := p.Within(v)
	q.Accept("row")
	if !q.AcceptPunct('(') || q.IsAny("select", "with", "values", "table") {
		return nil, false
	}
	var values []scan.Span
	for !q.IsPunct(')') {
		v, reason := q.Value(nil)
		if reason != "" {
			return nil, false
		}
		values = append(values, v.Span)
		if !q.AcceptPunct(',') {
			break
		}
	}
	return values, q.AcceptPunct(')') && q.Token.Kind == scan.End
}

// AllFields returns the span of the record, with its brackets, in a value such as (f()).*;
// false for any other value.
func AllFields(p *reader.Reader, v scan.Span) (scan.Span, bool) {
	q := p.Within(v)
	inner := scan.Span{Start: q.Token.Start}
	if !q.Balanced('(', ')') {
		return inner, false
	}
	inner.End = q.PrevEnd
	if !q.AcceptPunct('.') {
		return inner, false
	}
	return inner, q.AcceptPunct('*') && q.Token.Kind == scan.End
}

// MayBeSet reports whether a value may be a set of rows: it calls a function or an
// operator, or selects a field. Literals, placeholders and their casts are no sets.
func MayBeSet(p *reader.Reader, v scan.Span) bool {
	q := p.Within(v)
	for before := byte(0); q.Token.Kind != scan.End; q.Read() {
		if Collations(&q); q.Token.Kind == scan.End {
			return false
		}
		at := before
		before = q.Text[q.Token.Start]
		switch q.Token.Kind {
		case scan.Punct:
			switch {
			case before == '(' && at == 'a', before == '.':
				return true
			case before == '-' || before == '+':
				// A sign belongs to its number, and is not an operator.
				if at != 0 && at != '(' && at != ',' && at != '[' || !scan.IsDigit(q.At(q.Pos)) {
					return true
				}
			case !isStructure(before):
				return true
			}
		case scan.Word, scan.Quoted:
			before = 'a'
			switch {
			case q.IsWord("cast"), q.IsWord("array"):
				before = 0
			case q.IsWord("as"), q.IsWord("uescape"):
			case at == 'v', at == ')', at == ']':
				return true // an operator after a value, such as LIKE or AT TIME ZONE
			}
		default:
			before = 'v'
		}
	}
	return false
}

// isStructure reports whether a punctuation mark is not part of an operator.
func isStructure(c byte) bool {
	switch c {
	case '(', ')', '[', ']', ',', ':':
		return true
	}
	return false
}

// CallsSet reports whether a value calls one of the engine's own functions that return
// sets. A query in brackets is one value, whatever it calls.
func CallsSet(p *reader.Reader, v scan.Span) bool {
	q := p.Within(v)
	for q.Token.Kind != scan.End {
		switch {
		case q.IsPunct('('):
			n, _ := q.Peek()
			if word := q.TextOf(n); n.Kind == scan.Word && scan.EqualAny(word, "select", "with", "values", "table") {
				q.Brackets()
				continue
			}
		case q.Token.Kind == scan.Quoted && q.NextIsPunct('('):
			text := q.TextOf(q.Token)
			if setReturning.Has(text[1 : len(text)-1]) {
				return true
			}
		case q.IsIn(setReturning) && q.NextIsPunct('('):
			return true
		}
		q.Advance()
	}
	return false
}

// setReturning are functions of PostgreSQL that return sets: those with proretset in
// pg_proc, except functions that inspect the server.
var setReturning = scan.NewWordSet(`generate_series generate_subscripts unnest
	regexp_matches regexp_split_to_table string_to_table
	json_array_elements json_array_elements_text json_each json_each_text json_object_keys
	json_populate_recordset json_to_recordset
	jsonb_array_elements jsonb_array_elements_text jsonb_each jsonb_each_text jsonb_object_keys
	jsonb_populate_recordset jsonb_to_recordset jsonb_path_query jsonb_path_query_tz
	ts_stat ts_parse ts_token_type ts_debug aclexplode pg_options_to_table`)
