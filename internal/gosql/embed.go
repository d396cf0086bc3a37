package gosql

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

// embeddedFile is a file that a variable embeds.
type embeddedFile struct {
	name       *ast.Ident // the name of the variable in its declaration
	text, path string
}

// embeds notes the file that a declaration embeds. A pattern of several files is for
// variables of type embed.FS, whose texts are not known here.
func (r *reading) embeds(decl *ast.GenDecl) {
	if decl.Tok != token.VAR || r.f.embed == nil {
		return
	}
	for _, spec := range decl.Specs {
		spec, ok := spec.(*ast.ValueSpec)
		if !ok || len(spec.Names) != 1 || len(spec.Values) > 0 {
			continue
		}
		doc := spec.Doc
		if doc == nil && !decl.Lparen.IsValid() {
			doc = decl.Doc
		}
		name := embeddedName(doc)
		v := r.variable(spec.Names[0])
		if name == "" || v == nil || !isStringType(v.v.Type()) && !isBytes(v.v.Type()) {
			continue
		}
		if text, path, ok := r.f.embed(spec.Pos(), name); ok {
			v.file = &embeddedFile{spec.Names[0], text, path}
			r.f.embedded = append(r.f.embedded, v)
		}
	}
}

// embeddedName returns the name of the file that the comments of a variable embed; empty if
// they embed no file or several.
func embeddedName(doc *ast.CommentGroup) (name string) {
	if doc == nil {
		return ""
	}
	for _, c := range doc.List {
		names, ok := strings.CutPrefix(c.Text, "//go:embed ")
		if !ok {
			continue
		}
		names = strings.TrimSpace(names)
		if name != "" || strings.ContainsAny(names, " \t*?[") {
			return ""
		}
		name = strings.TrimPrefix(strings.Trim(names, "\"`"), "all:")
	}
	return name
}

// isBytes reports whether a type is a slice of bytes.
func isBytes(t types.Type) bool {
	list, ok := t.Underlying().(*types.Slice)
	if !ok {
		return false
	}
	element, ok := list.Elem().Underlying().(*types.Basic)
	return ok && element.Kind() == types.Uint8
}

// noteEmbedded adds the texts of variables that embed a file to the texts of the package,
// as the texts of constants are added.
func (f *finder) noteEmbedded() {
	for _, v := range f.embedded {
		if v.assignedOnce() && v.file.text != "" {
			f.texts = append(f.texts, candidate{
				Text:    Text{Expr: v.file.name, Parts: knownPart(v.file.text), Embedded: v.file.path},
				defines: v.v,
			})
		}
	}
}

// embeddedBytes returns the text of a conversion string(v), if v is a variable that embeds
// a file as bytes.
func (g *folding) embeddedBytes(conversion *ast.CallExpr) ([]Part, bool) {
	if len(conversion.Args) != 1 {
		return nil, false
	}
	id, ok := ast.Unparen(conversion.Args[0]).(*ast.Ident)
	if !ok {
		return nil, false
	}
	v, ok := g.f.info.Uses[id].(*types.Var)
	if !ok || g.f.vars[v] == nil || g.f.vars[v].file == nil || !g.f.vars[v].assignedOnce() {
		return nil, false
	}
	g.embedded = g.f.vars[v].file.path
	return knownPart(g.f.vars[v].file.text), true
}
