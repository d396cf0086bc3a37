package rewrite

// call reads the call of a function, with OVER.
func (e *carriedExpr) call() carried {
	c := e.called()
	if e.isWord("over") {
		if e.advance(); e.isPunct('(') {
			e.brackets()
		} else {
			e.advance()
		}
		if c != carriedInteger {
			return carriedUnknown
		}
	}
	return c
}

func (e *carriedExpr) called() carried {
	switch {
	case e.isAny("cast", "convert"):
		return e.cast()
	case e.isWord("if"):
		e.advance()
		e.advance()
		e.condition()
		e.advance()
		return e.choice()
	case e.isAny("ifnull", "coalesce", "nullif", "nvl"):
		e.advance()
		e.advance()
		return e.choice()
	case e.isAny("abs", "sign", "floor", "ceil", "ceiling", "round", "truncate", "greatest", "least", "max", "min", "sum", "any_value"):
		return e.sameKind()
	case e.isIn(carriedTexts):
		return e.behind(carriedText)
	case e.isIn(carriedIntegers):
		return e.behind(carriedInteger)
	case e.isIn(carriedTimes):
		return e.behind(carriedAlone)
	}
	e.behind(carriedUnknown)
	return carriedUnknown
}

// behind moves past a call, of which c is known whatever its arguments are.
func (e *carriedExpr) behind(c carried) carried {
	e.advance()
	e.brackets()
	return c
}

// carriedTexts are functions whose value is text or bytes, whatever the arguments.
var carriedTexts = newWordSet(`concat concat_ws upper lower ucase lcase trim ltrim rtrim left right substring substr mid
	substring_index replace reverse repeat lpad rpad space md5 sha sha1 sha2 hex unhex to_base64 from_base64
	regexp_replace quote group_concat json_object json_array json_quote json_unquote json_extract json_value
	json_arrayagg json_objectagg uuid user current_user session_user system_user database schema version
	dayname monthname inet6_aton`)

// carriedIntegers are functions whose value is an integer, whatever the arguments.
var carriedIntegers = newWordSet(`count length octet_length char_length character_length bit_length ascii instr locate
	position field find_in_set strcmp isnull crc32 bit_count inet_aton json_length json_valid
	year month day dayofmonth dayofweek weekday week quarter hour to_days datediff timestampdiff
	exists row_number rank dense_rank ntile connection_id interval`)

// carriedTimes are functions whose value is a date or time.
var carriedTimes = newWordSet(`now current_timestamp current_date current_time localtime localtimestamp curdate curtime
	utc_date utc_time utc_timestamp date last_day makedate date_add date_sub`)

// sameKind reads the call of a function whose value is an integer if its arguments
// are.
func (e *carriedExpr) sameKind() carried {
	sums := e.isWord("sum")
	e.advance()
	e.advance()
	e.accept("distinct")
	for c := carriedInteger; ; {
		if c = min(c, e.expr()); e.acceptPunct(',') {
			continue
		}
		if !e.acceptPunct(')') {
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

// choice reads the arguments of a function whose value is one of them, and its closing
// bracket.
func (e *carriedExpr) choice() carried {
	var b carriedBranches
	for {
		b.add(e.expr())
		switch {
		case e.acceptPunct(','):
		case e.acceptPunct(')'):
			return b.carried()
		default:
			e.close()
			return carriedUnknown
		}
	}
}

// condition moves to the comma after the condition of IF, whatever it is.
func (e *carriedExpr) condition() {
	for depth := 0; e.tok.kind != tokEnd; e.advance() {
		switch {
		case e.isPunct('('):
			depth++
		case depth == 0 && (e.isPunct(',') || e.isPunct(')')):
			return
		case e.isPunct(')'):
			depth--
		}
	}
}

// cast reads CAST(x AS type), CONVERT(x, type) and CONVERT(x USING charset). The
// type decides, whatever x is.
func (e *carriedExpr) cast() carried {
	e.advance()
	e.advance()
	c := carriedUnknown
	for depth := 0; e.tok.kind != tokEnd; e.advance() {
		switch {
		case e.isPunct('('):
			depth++
		case e.isPunct(')'):
			if depth--; depth < 0 {
				e.advance()
				return c
			}
		case depth > 0:
		case e.isWord("using"):
			c = carriedText
		case e.isWord("as"), e.isPunct(','):
			n, _ := e.peek()
			switch word := e.text(n); {
			case n.kind != tokWord:
			case equalAny(word, "char", "nchar", "binary", "varchar"):
				c = carriedText
			case equalAny(word, "signed", "unsigned", "integer", "int"):
				c = carriedInteger
			case equalAny(word, "decimal", "dec", "double", "date", "datetime", "time"):
				c = carriedAlone
			}
		}
	}
	return carriedUnknown
}
