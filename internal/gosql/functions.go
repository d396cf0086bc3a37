package gosql

import (
	"go/ast"
	"go/constant"
	"go/types"
	"strconv"
	"strings"
)

// apply returns the result of a function of package strings. If only a part of an argument
// is known, the result is unknown; but a function that trims the ends of such a text is
// assumed to return the text unchanged.
func (g *folding) apply(call *ast.CallExpr, do func([]string) string) ([]Part, bool) {
	var args []string
	var first []Part
	whole := true
	for i, e := range call.Args {
		parts := g.expr(e)
		if i == 0 {
			first = parts
		}
		whole = whole && allKnown(parts)
		text := Text{Parts: parts}
		args = append(args, text.SQL())
	}
	if whole {
		return knownPart(do(args)), true
	}
	if strings.HasPrefix(g.f.function(call), "strings.Trim") {
		return first, true
	}
	return []Part{unknownPart(call)}, true
}

// join returns the result of strings.Join.
func (g *folding) join(call *ast.CallExpr) ([]Part, bool) {
	if len(call.Args) != 2 {
		return nil, false
	}
	lit := g.list(call.Args[0])
	if lit == nil {
		return nil, false
	}
	between := g.expr(call.Args[1])
	fold := func() []Part {
		parts := knownPart("")
		for i, e := range lit.Elts {
			if i > 0 {
				parts = add(parts, between...)
			}
			if _, ok := e.(*ast.KeyValueExpr); ok {
				return []Part{unknownPart(call)}
			}
			parts = add(parts, g.expr(e)...)
		}
		return parts
	}
	if ast.Unparen(call.Args[0]) == ast.Expr(lit) {
		return fold(), true
	}
	return g.elsewhere(fold), true
}

// maxRepeats bounds how many times a text is repeated, so that no text gets long.
const maxRepeats = 1000

// repeat returns the result of strings.Repeat.
func (g *folding) repeat(call *ast.CallExpr) ([]Part, bool) {
	if len(call.Args) != 2 {
		return nil, false
	}
	value := g.f.info.Types[call.Args[1]].Value
	if value == nil || value.Kind() != constant.Int {
		return nil, false
	}
	n, ok := constant.Int64Val(value)
	if !ok || n < 0 || n > maxRepeats {
		return nil, false
	}
	parts, one := knownPart(""), g.expr(call.Args[0])
	for range n {
		parts = add(parts, one...)
	}
	return parts, true
}

// list returns the literal of a list that an expression is, directly or through a variable
// that is assigned once; nil for any other expression.
func (g *folding) list(e ast.Expr) *ast.CompositeLit {
	switch x := ast.Unparen(e).(type) {
	case *ast.CompositeLit:
		return x
	case *ast.Ident:
		v, ok := g.f.info.Uses[x].(*types.Var)
		if !ok || g.f.vars[v] == nil || !g.f.vars[v].assignedOnce() || g.f.vars[v].writes[0].expr == nil {
			return nil
		}
		lit, _ := ast.Unparen(g.f.vars[v].writes[0].expr).(*ast.CompositeLit)
		return lit
	}
	return nil
}

// format returns the text of a format with its arguments. spread says that the last
// argument is a list of arguments.
func (g *folding) format(format ast.Expr, args []ast.Expr, spread bool) []Part {
	var parts []Part
	next := 0
	argument := func(verb string) []Part {
		if spread || next >= len(args) {
			return []Part{{Unknown: verb}}
		}
		next++
		return g.argument(verb, args[next-1])
	}
	for _, p := range g.expr(format) {
		if p.Unknown != "" {
			parts = add(parts, p)
			continue
		}
		for text := p.SQL; text != ""; {
			before, rest, found := strings.Cut(text, "%")
			parts = add(parts, Part{SQL: before})
			if !found {
				break
			}
			verb, index := verbOf(rest)
			text = rest[len(verb):]
			if verb == "%" {
				parts = add(parts, Part{SQL: "%"})
				continue
			}
			if index > 0 {
				next = index - 1
			}
			parts = add(parts, argument("%"+verb)...)
		}
	}
	if spread {
		g.unknown = append(g.unknown, args...)
	} else {
		for _, e := range args[min(next, len(args)):] {
			g.notKnown(e)
		}
	}
	return parts
}

// verbOf returns the verb, with its flags, at the start of the text after a percent sign,
// and the index of the verb's argument, from 1. The index is 0 for the next argument.
func verbOf(s string) (verb string, index int) {
	i := 0
	for i < len(s) && strings.IndexByte("+-# 0123456789.*[]", s[i]) >= 0 {
		i++
	}
	if open := strings.IndexByte(s[:i], '['); open >= 0 {
		if end := strings.IndexByte(s[open:i], ']'); end > 0 {
			index, _ = strconv.Atoi(s[open+1 : open+end])
		}
	}
	if i < len(s) {
		i++
	}
	return s[:i], index
}

// argument returns the text of an argument, as a verb of a format such as %s prints it.
func (g *folding) argument(verb string, e ast.Expr) []Part {
	tv := g.f.info.Types[e]
	if tv.Type == nil || types.NewMethodSet(tv.Type).Len() > 0 {
		return []Part{g.notKnown(e)} // a method of the value may decide its text
	}
	plain := strings.Trim(verb, "%[]0123456789")
	if isStringType(tv.Type) {
		switch plain {
		case "s", "v":
			return g.expr(e)
		case "q":
			if s, ok := g.f.constant(e); ok {
				return knownPart(strconv.Quote(s))
			}
		}
	}
	if tv.Value != nil && tv.Value.Kind() == constant.Int && (plain == "d" || plain == "v") {
		return knownPart(tv.Value.ExactString())
	}
	return []Part{g.notKnown(e)}
}
