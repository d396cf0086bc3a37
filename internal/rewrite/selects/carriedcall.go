package selects

import (
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// call reads the call of a function, with OVER if it has one, and returns what is known
// about its result in a temporary table.
func (e *carriedExpr) call() carried {
	c := e.called()
	if e.IsWord("over") {
		if e.Advance(); e.IsPunct('(') {
			e.Brackets()
		} else {
			e.Advance()
		}
		if c != carriedInteger {
			return carriedUnknown
		}
	}
	return c
}

// called reads the call of a function up to OVER, and returns what is known about its
// result in a temporary table.
func (e *carriedExpr) called() carried {
	switch {
	case e.IsAny("cast", "convert"):
		return e.cast()
	case e.IsWord("if"):
		e.Advance()
		e.Advance()
		e.condition()
		e.Advance()
		return e.choice()
	case e.IsAny("ifnull", "coalesce", "nullif", "nvl"):
		e.Advance()
		e.Advance()
		return e.choice()
	case e.IsAny("abs", "sign", "floor", "ceil", "ceiling", "round", "truncate", "greatest", "least", "max", "min", "sum", "any_value"):
		return e.sameKind()
	case e.IsIn(carriedTexts):
		return e.behind(carriedText)
	case e.IsIn(carriedIntegers):
		return e.behind(carriedInteger)
	case e.IsIn(carriedTimes):
		return e.behind(carriedAlone)
	}
	e.behind(carriedUnknown)
	return carriedUnknown
}

// behind moves past the call of a function, and returns c, what is known about its result:
// the arguments do not matter.
func (e *carriedExpr) behind(c carried) carried {
	e.Advance()
	e.Brackets()
	return c
}

// carriedTexts are functions that return text or bytes, whatever the arguments.
var carriedTexts = scan.NewWordSet(`concat concat_ws upper lower ucase lcase trim ltrim rtrim left right substring substr mid
	substring_index replace reverse repeat lpad rpad space md5 sha sha1 sha2 hex unhex to_base64 from_base64
	regexp_replace quote group_concat json_object json_array json_quote json_unquote json_extract json_value
	json_arrayagg json_objectagg uuid user current_user session_user system_user database schema version
	dayname monthname inet6_aton`)

// carriedIntegers are functions that return an integer, whatever the arguments.
var carriedIntegers = scan.NewWordSet(`count length octet_length char_length character_length bit_length ascii instr locate
	position field find_in_set strcmp isnull crc32 bit_count inet_aton json_length json_valid
	year month day dayofmonth dayofweek weekday week quarter hour to_days datediff timestampdiff
	exists row_number rank dense_rank ntile connection_id interval`)

// carriedTimes are functions that return a date or time.
var carriedTimes = scan.NewWordSet(`now current_timestamp current_date current_time localtime localtimestamp curdate curtime
	utc_date utc_time utc_timestamp date last_day makedate date_add date_sub`)

// sameKind reads the call of a function that returns an integer if its arguments are
// integers, and else an unknown value.
func (e *carriedExpr) sameKind() carried {
	sums := e.IsWord("sum")
	e.Advance()
	e.Advance()
	e.Accept("distinct")
	for c := carriedInteger; ; {
		if c = min(c, e.expr()); e.AcceptPunct(',') {
			continue
		}
		if !e.AcceptPunct(')') {
			e.close()
			return carriedUnknown
		}
		switch {
		case c != carriedInteger:
			return carriedUnknown
		case sums:
			return carriedAlone // a decimal
		}
		return c
	}
}

// choice reads the arguments of a function that returns one of them, such as COALESCE, and
// its closing bracket.
func (e *carriedExpr) choice() carried {
	var b carriedBranches
	for {
		b.add(e.expr())
		switch {
		case e.AcceptPunct(','):
		case e.AcceptPunct(')'):
			return b.carried()
		default:
			e.close()
			return carriedUnknown
		}
	}
}

// condition moves to the comma after the condition of IF, which does not matter.
func (e *carriedExpr) condition() {
	for depth := 0; e.Token.Kind != scan.End; e.Advance() {
		switch {
		case e.IsPunct('('):
			depth++
		case depth == 0 && (e.IsPunct(',') || e.IsPunct(')')):
			return
		case e.IsPunct(')'):
			depth--
		}
	}
}

// cast reads CAST(x AS type), CONVERT(x, type) and CONVERT(x USING charset). Only the type
// matters, and not x.
func (e *carriedExpr) cast() carried {
	e.Advance()
	e.Advance()
	c := carriedUnknown
	for depth := 0; e.Token.Kind != scan.End; e.Advance() {
		switch {
		case e.IsPunct('('):
			depth++
		case e.IsPunct(')'):
			if depth--; depth < 0 {
				e.Advance()
				return c
			}
		case depth > 0:
		case e.IsWord("using"):
			c = carriedText
		case e.IsWord("as"), e.IsPunct(','):
			n, _ := e.Peek()
			switch word := e.TextOf(n); {
			case n.Kind != scan.Word:
			case scan.EqualAny(word, "char", "nchar", "binary", "varchar"):
				c = carriedText
			case scan.EqualAny(word, "signed", "unsigned", "integer", "int"):
				c = carriedInteger
			case scan.EqualAny(word, "decimal", "dec", "double", "date", "datetime", "time"):
				c = carriedAlone
			}
		}
	}
	return carriedUnknown
}
