package vet

import (
	"go/ast"
	"go/token"
	"go/types"
	"reflect"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/policy"
)

// wholeUpdate is a call by which a library for structs sends an UPDATE of all columns.
type wholeUpdate struct {
	pkg    string // the path of the library
	method string // the method that gets the struct
	within []string
	// instead are methods of the same chain after which the UPDATE has not all columns.
	instead []string
	tag     string                      // the key of the library's tags
	keeps   func(options []string) bool // whether a field with these options is never updated
	advice  string
}

// wholeUpdates are the calls of GORM, bun and xorm. ent sends the columns that a program sets.
var wholeUpdates = []wholeUpdate{
	{"gorm.io/gorm", "Save", nil, []string{"Omit", "Select"}, "gorm", keptByGORM, "use the plugin keyfillgorm, or tag the field <-:create"},
	{"gorm.io/gorm", "Updates", []string{`Select("*")`}, []string{"Omit"}, "gorm", keptByGORM, "use the plugin keyfillgorm, or tag the field <-:create"},
	{"github.com/uptrace/bun", "Model", []string{"NewUpdate"}, []string{"Column", "ExcludeColumn", "Set", "SetColumn", "OmitZero"}, "bun",
		func(options []string) bool { return hasOption(options, "skipupdate", "scanonly") }, "tag the field skipupdate"},
	{"xorm.io/xorm", "Update", []string{"AllCols"}, []string{"Omit"}, "xorm",
		func(options []string) bool { return hasOption(options, "<-") }, "tag the field <-"},
}

func hasOption(options []string, any ...string) bool {
	return slices.ContainsFunc(options, func(o string) bool { return slices.Contains(any, o) })
}

// keptByGORM: GORM's permissions of fields, https://gorm.io/docs/models.html#Field-Level-Permission.
func keptByGORM(options []string) bool {
	return hasOption(options, "<-:create", "<-:false", "->", "-", "-:all")
}

// updates returns the reports of the rule wholeupdate about a package.
func (j *Judge) updates(s gosql.Source, note func(ast.Node, Finding)) {
	if s.Package == nil || s.Info == nil || importsPlugin(s.Package, map[*types.Package]bool{}) {
		return
	}
	for _, file := range s.Files {
		// The last call of a chain is visited first, and has all methods before it.
		var chains [][2]token.Pos
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || slices.ContainsFunc(chains, func(c [2]token.Pos) bool { return c[0] == call.Pos() && call.End() <= c[1] }) {
				return true
			}
			links := linksOf(call)
			chains = append(chains, [2]token.Pos{call.Pos(), call.End()})
			for _, link := range links {
				for i := range wholeUpdates {
					if f, found := j.updateBy(&wholeUpdates[i], s, link, links); found {
						note(link, f)
						return true
					}
				}
			}
			return true
		})
	}
}

// importsPlugin reports whether a package has the plugin of GORM, which keeps the numbers.
func importsPlugin(p *types.Package, seen map[*types.Package]bool) bool {
	if seen[p] {
		return false
	}
	seen[p] = true
	return strings.HasSuffix(p.Path(), "/keyfillgorm") || slices.ContainsFunc(p.Imports(), func(q *types.Package) bool { return importsPlugin(q, seen) })
}

// linksOf returns the calls of a chain such as db.Model(x).Select("*").Updates(x), the last
// one first.
func linksOf(call *ast.CallExpr) (links []*ast.CallExpr) {
	for call != nil {
		links = append(links, call)
		selector, ok := call.Fun.(*ast.SelectorExpr)
		if !ok {
			break
		}
		call, _ = selector.X.(*ast.CallExpr)
	}
	return links
}

// methodOf returns the name of the method that a call calls, also with its only argument if
// that is a text.
func methodOf(call *ast.CallExpr) (name, with string) {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	name = selector.Sel.Name
	if len(call.Args) == 1 {
		if text, ok := call.Args[0].(*ast.BasicLit); ok {
			with = name + "(" + text.Value + ")"
		}
	}
	return name, with
}

// updateBy returns the finding about a call of a chain that stores the whole of a struct over
// a number of the policy.
func (j *Judge) updateBy(u *wholeUpdate, s gosql.Source, call *ast.CallExpr, chain []*ast.CallExpr) (Finding, bool) {
	if name, _ := methodOf(call); name != u.method || len(call.Args) == 0 {
		return Finding{}, false
	}
	fn, _ := s.Info.Uses[call.Fun.(*ast.SelectorExpr).Sel].(*types.Func)
	if fn == nil || fn.Pkg() == nil || fn.Pkg().Path() != u.pkg {
		return Finding{}, false
	}
	needs := len(u.within)
	for _, link := range chain {
		name, with := methodOf(link)
		if slices.Contains(u.within, name) || slices.Contains(u.within, with) {
			needs--
		} else if slices.Contains(u.instead, name) {
			return Finding{}, false
		}
	}
	named := structOf(s.Info.TypeOf(call.Args[0]))
	if needs > 0 || named == nil {
		return Finding{}, false
	}
	table, rule := j.tableOf(named)
	if rule == nil {
		return Finding{}, false
	}
	fields := named.Underlying().(*types.Struct)
	for i := range rule.Keys {
		if k := &rule.Keys[i]; (i > 0 || k.Source.Format != "") && j.sends(u, fields, k) {
			return Finding{Rule: RuleWholeUpdate, Message: "this update of the whole " + named.Obj().Name() + " stores what its field has over " + k.Column + " of " + table +
				", also 0 or an empty text: " + u.advice}, true
		}
	}
	return Finding{}, false
}

// sends reports whether a library would send the field of a key column in an UPDATE of the
// whole struct.
func (j *Judge) sends(u *wholeUpdate, fields *types.Struct, k *policy.RuleKey) bool {
	for i := range fields.NumFields() {
		options := strings.FieldsFunc(reflect.StructTag(fields.Tag(i)).Get(u.tag), func(c rune) bool { return strings.ContainsRune(",; ", c) })
		column := snake(fields.Field(i).Name())
		for _, o := range options {
			if name, found := strings.CutPrefix(o, "column:"); found {
				column = name
			} else if name := strings.Trim(o, "'"); j.dialect.Fold(name, false) == k.Column || name == k.Column {
				column = name
			}
		}
		if column != k.Column && j.dialect.Fold(column, false) != k.Column || !fields.Field(i).Exported() {
			continue
		}
		return !u.keeps(options) && !hasOption(options, "primaryKey", "primarykey", "pk")
	}
	return false
}

// structOf returns the named struct of a value, of a pointer to one, or of a slice of them;
// nil if there is none.
func structOf(t types.Type) *types.Named {
	for t != nil {
		switch one := types.Unalias(t).(type) {
		case *types.Pointer:
			t = one.Elem()
		case *types.Slice:
			t = one.Elem()
		case *types.Named:
			if _, ok := one.Underlying().(*types.Struct); ok {
				return one
			}
			t = one.Underlying()
		default:
			return nil
		}
	}
	return nil
}

// tableOf returns the table of the policy that a struct is likely stored in, by the name of
// the struct, and its rule; nil if there is none. The text of a method TableName is not read.
func (j *Judge) tableOf(named *types.Named) (string, *policy.Rule) {
	name := snake(named.Obj().Name())
	names := []string{name, name + "s", name + "es"}
	if stem, found := strings.CutSuffix(name, "y"); found {
		names = append(names, stem+"ies")
	}
	for _, one := range names {
		schema, table, err := j.policy.ParseName(one)
		if err != nil {
			continue
		}
		if rule := j.policy.Match(schema, table); rule != nil && !rule.Identity {
			return one, rule
		}
	}
	return "", nil
}

// snake returns a name of Go as these libraries write it in SQL: IssuedOn is issued_on.
func snake(name string) string {
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		if isUpper(c) {
			if i > 0 && (!isUpper(name[i-1]) || i+1 < len(name) && !isUpper(name[i+1])) {
				b.WriteByte('_')
			}
			c |= 0x20
		}
		b.WriteByte(c)
	}
	return b.String()
}

func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
