// Package gosql finds the texts of SQL in the Go source of a package, as far as they are
// known without running the program.
//
// A text is an expression of type string: a constant, or a text that is put together from
// constants by +, fmt.Sprintf, strings.Join and a few more functions of package strings, by
// a variable to which pieces are added, or by a strings.Builder. A piece that is known only
// when the program runs is named by its Go source. The caller decides which texts are SQL:
// every text is found, and most texts of a program are no SQL.
//
//	for _, text := range gosql.Find(source).Texts {
//		if text.Known() { judge(text.SQL()) }
//	}
//
// # What is followed
//
// A constant or a variable that is part of a longer text is not a text of its own, unless
// it is used alone too. A variable is followed if it is assigned once, or if its
// assignments are in the statement list in which it is declared. A text that is added to it
// in an if, a loop or a function literal is an unknown piece. A variable whose address is
// taken is not followed, and neither are fields, elements, parameters and the results of
// functions. A variable that embeds a file has the file's text.
//
// # Caveats
//
// Texts that a library builds, such as an ORM, are not in the source; of a query builder
// the call that begins an INSERT is found. The order of goroutines and function literals is
// not examined.
package gosql

//row:changes | what `keyfill vet` finds in Go source | `internal/gosql`; `internal/vet` has the rules

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// Source is a package that was parsed and whose types were checked. If its files have
// mistakes, an expression without a type is no text.
type Source struct {
	Package *types.Package
	Files   []*ast.File
	Info    *types.Info // it must have Types, Defs and Uses

	// Embed reads the file that a variable embeds by //go:embed, and returns the file's text
	// and path. at is the position of the variable, and name the pattern. If Embed is nil or
	// reports false, the text of the variable is not known.
	Embed func(at token.Pos, name string) (text, path string, ok bool)
}

// Text is the value of an expression of type string, as far as the source shows it.
type Text struct {
	Expr  ast.Expr
	Parts []Part // the pieces of the text, at least one of them known

	// Sent is true if the text is the argument of a call that executes or prepares it, such as
	// ExecContext, directly or through a constant or a variable.
	Sent bool
	// Piece is true if the text is added to a value that is not followed, so that it may be
	// only a part of a longer text.
	Piece bool
	// Embedded is the path of the embedded file whose whole content the text is; may be empty.
	Embedded string
}

// Part is a piece of a text.
type Part struct {
	SQL     string // the known text
	Unknown string // the Go source of an unknown part, in one line; empty if SQL is known
}

// Known reports whether the whole text is known.
func (t *Text) Known() bool { return allKnown(t.Parts) }

// SQL returns the text, with nothing for its unknown parts.
func (t *Text) SQL() string { return t.With("") }

// With returns the text with standIn instead of each part that is not known.
func (t *Text) With(standIn string) string {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Unknown != "" {
			b.WriteString(standIn)
		} else {
			b.WriteString(p.SQL)
		}
	}
	return b.String()
}

// Call is a call that executes or prepares a text.
type Call struct {
	Call *ast.CallExpr
	Arg  ast.Expr // its text
}

// LastID is a call of LastInsertId.
type LastID struct {
	Call *ast.CallExpr
	Text Text // the text that was executed
}

// Found holds the findings in a package.
type Found struct {
	Texts   []Text   // in the order of the source, with files in the order of their positions
	Unknown []Call   // calls that execute a text of which nothing is known
	LastIDs []LastID // calls of LastInsertId after a text of which something is known
	Built   []Built  // calls that begin an INSERT of a query builder
}

// Find returns the texts of a package. It changes nothing of the source, and is safe for
// concurrent use.
func Find(s Source) Found {
	f := &finder{
		info: s.Info, pkg: s.Package,
		vars: map[*types.Var]*variable{}, pieces: map[ast.Expr]*piece{}, consts: map[ast.Expr]types.Object{},
		sent: map[ast.Expr]bool{}, added: map[ast.Expr]bool{},
		used: map[types.Object]*use{}, seen: map[seenText]int{}, embed: s.Embed,
	}
	files := slices.Clone(s.Files)
	slices.SortFunc(files, func(a, b *ast.File) int { return cmp.Compare(a.FileStart, b.FileStart) })
	for _, file := range files {
		f.readVariables(file)
	}
	f.noteEmbedded()
	for _, file := range files {
		f.walk(file)
	}
	return f.result()
}

// finder finds the texts of one package.
type finder struct {
	info *types.Info
	pkg  *types.Package

	vars   map[*types.Var]*variable
	pieces map[ast.Expr]*piece       // the writes to variables, by the expression that is written
	consts map[ast.Expr]types.Object // the constants that are defined by expressions

	sent  map[ast.Expr]bool // the expressions that are executed or prepared
	added map[ast.Expr]bool // the expressions that are added to a value that is not followed
	used  map[types.Object]*use
	seen  map[seenText]int // for each text of a variable, its index in texts

	embed    func(at token.Pos, name string) (text, path string, ok bool)
	embedded []*variable // the variables that embed files, in the order of the source

	texts   []candidate
	unknown []Call
	lastIDs []LastID
	built   []Built
}

// use says how a constant, or a variable that is assigned once, is used.
type use struct {
	asPart bool // whether it is part of a longer text
	alone  bool
	sent   bool
}

// seenText is a text of a variable, which is noted only once.
type seenText struct {
	v    *types.Var
	text string
}

// candidate is a text that is dropped from the result if the object that it defines is only
// used as part of longer texts.
type candidate struct {
	Text
	defines types.Object // the constant or variable that the text defines; nil if it defines none
	pieceOf *variable    // a variable that has the text as one of its pieces; nil if there is none
}

// result returns the candidates that are not only parts of other texts.
func (f *finder) result() Found {
	found := Found{Unknown: f.unknown, LastIDs: f.lastIDs, Built: f.built}
	for _, c := range f.texts {
		if c.pieceOf != nil && c.pieceOf.put {
			continue
		}
		if c.defines != nil {
			u := f.used[c.defines]
			if u != nil && u.asPart && !u.alone {
				continue
			}
			c.Sent = c.Sent || u != nil && u.sent
		}
		c.Sent = c.Sent || f.sent[c.Expr]
		found.Texts = append(found.Texts, c.Text)
	}
	slices.SortStableFunc(found.Texts, func(a, b Text) int { return cmp.Compare(a.Expr.Pos(), b.Expr.Pos()) })
	return found
}

// useOf returns the uses of an object.
func (f *finder) useOf(o types.Object) *use {
	if f.used[o] == nil {
		f.used[o] = &use{}
	}
	return f.used[o]
}

// object returns the constant or variable of this package that an expression names, or a
// constant of another package, or nil.
func (f *finder) object(e ast.Expr) types.Object {
	var o types.Object
	switch e := ast.Unparen(e).(type) {
	case *ast.Ident:
		o = f.info.Uses[e]
	case *ast.SelectorExpr:
		if o = f.info.Uses[e.Sel]; o == nil || o.Parent() != nil && o.Pkg() != f.pkg && !isConst(o) {
			return nil
		}
	}
	switch o := o.(type) {
	case *types.Const:
		return o
	case *types.Var:
		if !o.IsField() {
			return o
		}
	}
	return nil
}

func isConst(o types.Object) bool {
	_, ok := o.(*types.Const)
	return ok
}

// isString reports whether an expression has a value of a string type.
func (f *finder) isString(e ast.Expr) bool {
	tv, ok := f.info.Types[e]
	return ok && tv.IsValue() && isStringType(tv.Type)
}

func isStringType(t types.Type) bool {
	if t == nil {
		return false
	}
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsString != 0
}

// walk visits a file or a part of one.
func (f *finder) walk(n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			f.walkAssignment(n)
			return false
		case *ast.CallExpr:
			if f.visitFormat(n) {
				return false
			}
			f.visitCall(n)
		}
		if e, ok := n.(ast.Expr); ok && f.isString(e) {
			return !f.text(e)
		}
		return true
	})
}

// walkAssignment visits the assigned expressions, and the expressions on the left side that
// are not plain variables.
func (f *finder) walkAssignment(s *ast.AssignStmt) {
	for _, e := range s.Lhs {
		if _, ok := ast.Unparen(e).(*ast.Ident); !ok {
			f.walk(e)
		}
	}
	for _, e := range s.Rhs {
		f.walk(e)
	}
}

// text notes the text of an expression. It reports whether the parts of the expression were
// visited.
func (f *finder) text(e ast.Expr) bool {
	if o := f.object(e); o != nil {
		return f.named(e, o)
	}
	g := folding{f: f}
	parts := g.expr(e)
	if len(g.unknown) == 1 && g.unknown[0] == e {
		return false // the parts of the expression are examined separately
	}
	if !anyKnown(parts) {
		g.walkUnknown()
		return true
	}
	g.markParts(e)
	g.walkUnknown()
	f.note(e, Text{Expr: e, Parts: parts, Embedded: g.embedded})
	return true
}

// note adds a text to the candidates. What the expression e is used for decides whether it
// is a piece, or defines an object.
func (f *finder) note(e ast.Expr, t Text) {
	c := candidate{Text: t}
	switch p := f.pieces[e]; {
	case p == nil:
		c.Piece, c.defines = f.added[e], f.consts[e]
	case p.of.assignedOnce():
		c.defines = p.of.v
	case p.of.followed(f):
		c.Piece, c.pieceOf = true, p.of
	default:
		c.Piece = p.of.grows(f)
	}
	f.texts = append(f.texts, c)
}

// named notes that a constant or a variable is used by its name alone.
func (f *finder) named(e ast.Expr, o types.Object) bool {
	u := f.useOf(o)
	v, ok := o.(*types.Var)
	if !ok || f.vars[v] == nil || f.vars[v].assignedOnce() {
		u.alone = true
		u.sent = u.sent || f.sent[e]
		return true
	}
	if p := f.pieces[e]; p != nil && p.of.v == v {
		return true // the variable is assigned to itself, as in q = q
	}
	g := folding{f: f}
	parts := g.expr(e)
	if !anyKnown(parts) {
		if f.sent[e] {
			f.vars[v].send(f)
		}
		return true
	}
	key := seenText{v, join(parts)}
	i, seen := f.seen[key]
	if !seen {
		i = len(f.texts)
		f.seen[key] = i
		f.texts = append(f.texts, candidate{Text: Text{Expr: e, Parts: parts, Piece: f.added[e]}})
	}
	f.texts[i].Sent = f.texts[i].Sent || f.sent[e]
	return true
}

// join returns a key for parts: equal parts give equal keys.
func join(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.SQL)
		b.WriteByte(0)
		b.WriteString(p.Unknown)
		b.WriteByte(0)
	}
	return b.String()
}

func anyKnown(parts []Part) bool {
	return slices.ContainsFunc(parts, func(p Part) bool { return p.Unknown == "" && p.SQL != "" })
}

func allKnown(parts []Part) bool {
	return !slices.ContainsFunc(parts, func(p Part) bool { return p.Unknown != "" })
}

// add appends parts, and merges adjacent known parts.
func add(parts []Part, more ...Part) []Part {
	parts = slices.Clip(parts)
	for _, p := range more {
		if last := len(parts) - 1; p.Unknown == "" && last >= 0 && parts[last].Unknown == "" {
			parts = slices.Clone(parts)
			parts[last].SQL += p.SQL
			continue
		}
		parts = append(parts, p)
	}
	return parts
}

func knownPart(s string) []Part { return []Part{{SQL: s}} }

// maxSource bounds how many characters of Go source name an unknown part.
const maxSource = 40

// unknownPart returns an unknown part that names an expression by its source.
func unknownPart(e ast.Expr) Part {
	source := strings.Join(strings.Fields(types.ExprString(e)), " ")
	if runes := []rune(source); len(runes) > maxSource {
		source = string(runes[:maxSource-1]) + "…"
	}
	return Part{Unknown: source}
}
