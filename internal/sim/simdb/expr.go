package simdb

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// expr computes a value: an int64, a float64, a string, a bool, a time.Time, a
// time.Duration, or nil for NULL.
type expr func(*env) any

func (p *parser) expr() expr {
	left := p.both()
	for p.is("or") {
		p.other = true
		a, b := left, p.both()
		left = func(e *env) any { return isTrue(a(e)) || isTrue(b(e)) }
	}
	return left
}

func (p *parser) both() expr {
	left := p.comparison()
	for p.is("and") {
		a, b := left, p.comparison()
		left = func(e *env) any { return isTrue(a(e)) && isTrue(b(e)) }
	}
	return left
}

func isTrue(v any) bool { return v == true || v == int64(1) }

// comparisons are the results of a comparison, if the left side is less than, equal to or
// more than the right side.
var comparisons = map[string][3]bool{
	"=": {false, true, false}, "<>": {true, false, true},
	"<": {true, false, false}, "<=": {true, true, false},
	">": {false, false, true}, ">=": {false, true, true},
}

func (p *parser) comparison() expr {
	left := p.sum()
	column := p.last
	if holds, ok := comparisons[p.tokens[0].text]; ok && p.tokens[0].kind == sign {
		is := p.tokens[0].text
		p.tokens = p.tokens[1:]
		right := p.sum()
		if is == "=" && column >= 0 {
			p.equal[column] = right
		}
		return func(e *env) any {
			order, known := compare(left(e), right(e))
			return known && holds[order+1]
		}
	}
	not := p.is("not")
	switch {
	case p.is("between"):
		low := p.sum()
		p.need("and")
		high := p.sum()
		return func(e *env) any {
			v := left(e)
			a, known := compare(low(e), v)
			b, also := compare(v, high(e))
			return known && also && a <= 0 && b <= 0
		}
	case p.is("like"):
		part := strings.Trim(p.tokens[0].text, "%")
		if p.take(literal) != "%"+part+"%" {
			p.fail("an unknown pattern")
		}
		return func(e *env) any { return strings.Contains(left(e).(string), part) }
	case p.is("in", "("):
		all := p.list()
		return func(e *env) any {
			v := left(e)
			for _, one := range all {
				if order, known := compare(v, one(e)); known && order == 0 {
					return !not
				}
			}
			return not
		}
	case not:
		p.fail("an unknown comparison")
	}
	return left
}

func (p *parser) sum() expr {
	left := p.product()
	for {
		sign := p.tokens[0].text
		if !p.is("+") && !p.is("-") && !p.is("||") {
			return left
		}
		p.last = -1
		a, b := left, p.product()
		left = func(e *env) any { return combine(sign, a(e), b(e)) }
	}
}

func (p *parser) product() expr {
	left := p.cast()
	for {
		sign := p.tokens[0].text
		if !p.is("*") && !p.is("/") {
			return left
		}
		a, b := left, p.cast()
		left = func(e *env) any { return combine(sign, a(e), b(e)) }
	}
}

func (p *parser) cast() expr {
	value := p.value()
	for p.is("::") {
		p.take(word) // skip the type of the cast, since the value has that type already
	}
	return value
}

func (p *parser) value() expr {
	p.last = -1
	switch t := p.tokens[0]; t.kind {
	case number:
		p.tokens = p.tokens[1:]
		if strings.Contains(t.text, ".") {
			f, err := strconv.ParseFloat(t.text, 64)
			return constant(f, err)
		}
		n, err := strconv.ParseInt(t.text, 10, 64)
		return constant(n, err)
	case literal:
		p.tokens = p.tokens[1:]
		return constant(literalOf(t.text), nil)
	case placeholder:
		p.tokens = p.tokens[1:]
		n := p.places
		if p.places++; t.text != "" {
			n, _ = strconv.Atoi(t.text)
			n--
		}
		return func(e *env) any { return e.args[n] }
	}
	switch {
	case p.is("("):
		inner := p.expr()
		p.need(")")
		return inner
	case p.is("case"):
		return p.cases()
	case p.is("cast", "("):
		value := p.expr()
		p.need("as")
		p.take(word)
		p.need(")")
		return value
	case p.is("interval"):
		return p.interval()
	}
	name := p.take(word)
	switch {
	case p.is("("):
		return p.call(name)
	case p.parts != nil && p.of == nil:
		part := p.parts[name]
		if part == nil {
			p.fail("no column " + name)
		}
		return func(e *env) any { return part(e.key) }
	case p.of == nil:
		return func(e *env) any { return e.key }
	case p.is("."):
		column := p.column(p.take(word))
		if name == "excluded" {
			return func(e *env) any { return e.row.values[column] }
		}
		return func(e *env) any { return e.old.values[column] }
	}
	column := p.column(name)
	p.last = column
	return func(e *env) any {
		if e.old != nil {
			return e.old.values[column]
		}
		return e.row.values[column]
	}
}

func constant(v any, err error) expr {
	if err != nil {
		panic(err)
	}
	return func(*env) any { return v }
}

// cases parses a CASE of one condition, or of a value that is compared with another value.
func (p *parser) cases() expr {
	var subject expr
	if !p.sees("when") {
		subject = p.expr()
	}
	p.need("when")
	when := p.expr()
	if value := when; subject != nil {
		when = func(e *env) any {
			order, known := compare(subject(e), value(e))
			return known && order == 0
		}
	}
	p.need("then")
	then, other := p.expr(), constant(nil, nil)
	if p.is("else") {
		other = p.expr()
	}
	p.need("end")
	return func(e *env) any {
		if isTrue(when(e)) {
			return then(e)
		}
		return other(e)
	}
}

// interval parses an interval of one millisecond, or of as many microseconds as an
// expression says.
func (p *parser) interval() expr {
	if p.tokens[0].kind == literal {
		if text := p.take(literal); text != "1 millisecond" {
			p.fail("an unknown interval")
		}
		return constant(time.Millisecond, nil)
	}
	n := p.sum()
	p.need("microsecond")
	return func(e *env) any { return combine("*", n(e), time.Microsecond) }
}

// compare returns the order of two values. known is false if one of them is NULL.
func compare(a, b any) (order int, known bool) {
	if a == nil || b == nil {
		return 0, false
	}
	switch a := a.(type) {
	case int64:
		return ordered(a, b.(int64)), true
	case string:
		return strings.Compare(a, b.(string)), true
	case time.Time:
		return a.Compare(b.(time.Time)), true
	}
	panic(fmt.Sprintf("simdb: %T is compared with %T", a, b))
}

func ordered(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func combine(sign string, a, b any) any {
	switch b := b.(type) {
	case int64:
		switch a := a.(type) {
		case int64:
			return arithmetic(sign, a, b)
		}
	case float64:
		if sign == "/" {
			return float64(a.(int64)) / b
		}
	case time.Duration:
		switch a := a.(type) {
		case int64:
			return time.Duration(a) * b // the sign is *, since keyfill's SQL has no other operation on an integer and an interval
		case time.Time:
			return a.Add(b)
		}
	}
	if sign == "||" {
		return fmt.Sprint(a) + fmt.Sprint(b)
	}
	panic(fmt.Sprintf("simdb: %T %s %T", a, sign, b))
}

func arithmetic(sign string, a, b int64) any {
	switch sign {
	case "+":
		return a + b
	case "-":
		return a - b
	case "*":
		return a * b
	}
	panic("simdb: integers are not divided")
}
