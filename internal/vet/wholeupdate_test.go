package vet_test

import (
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/vet"
	"github.com/keyfill/keyfill/policy"
)

// libraries stand for what the rule knows of GORM, bun and xorm: their paths and methods.
var libraries = map[string]string{
	"gorm.io/gorm": `package gorm
type DB struct{}
func (db *DB) Model(any) *DB { return db }
func (db *DB) Select(any, ...any) *DB { return db }
func (db *DB) Omit(...string) *DB { return db }
func (db *DB) Save(any) *DB { return db }
func (db *DB) Create(any) *DB { return db }
func (db *DB) Updates(any) *DB { return db }`,
	"github.com/uptrace/bun": `package bun
type DB struct{}
type BaseModel struct{}
type UpdateQuery struct{}
func (*DB) NewUpdate() *UpdateQuery { return nil }
func (q *UpdateQuery) Model(any) *UpdateQuery { return q }
func (q *UpdateQuery) Column(...string) *UpdateQuery { return q }
func (q *UpdateQuery) WherePK() *UpdateQuery { return q }
func (*UpdateQuery) Exec() error { return nil }`,
	"xorm.io/xorm": `package xorm
type Engine struct{}
func (e *Engine) ID(any) *Engine { return e }
func (e *Engine) AllCols() *Engine { return e }
func (e *Engine) Update(any) (int64, error) { return 0, nil }`,
	"github.com/keyfill/keyfill/keyfillgorm": "package keyfillgorm",
}

type checked map[string]*types.Package

func (c checked) Import(path string) (*types.Package, error) {
	text, known := libraries[path]
	if !known {
		return importer.Default().Import(path)
	}
	if c[path] == nil {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path+".go", text, 0)
		if err != nil {
			return nil, err
		}
		if c[path], err = (&types.Config{}).Check(path, fset, []*ast.File{file}, nil); err != nil {
			return nil, err
		}
	}
	return c[path], nil
}

// TestWholeUpdate: the updates of whole structs that store an empty number, and those that do
// not, are told apart.
func TestWholeUpdate(t *testing.T) {
	c, err := policy.Parse([]byte(`version: 1
dialect: postgres
ensure_schema: true
tables:
  invoices: {column: id, source: uuidv7, keys: [{column: number, source: {kind: sequence, transaction: joined, format: "INV-{n:05}"}}]}
  tickets: {column: code, source: {kind: sequence, format: "T-{n:05}"}}
  orders: {column: id, source: uuidv7}
`))
	if err != nil {
		t.Fatal(err)
	}
	j, err := vet.NewJudge(c)
	if err != nil {
		t.Fatal(err)
	}
	const program = `package shop
import ("gorm.io/gorm"; "github.com/uptrace/bun"; "xorm.io/xorm"
%s)
type Invoice struct { ID string; Number string; Note string }
type Order struct { ID, Number string }
type Ticket struct { ID int64; Short string ` + "`gorm:\"column:code\" bun:\"code\" xorm:\"'code'\"`" + ` }
func f(g *gorm.DB, b *bun.DB, x *xorm.Engine, one *Invoice, all []*Invoice) {
	g.Save(one) // finds
	g.Save(&all) // finds
	g.Save(&Ticket{}) // finds
	g.Save(&Order{})
	g.Create(one)
	g.Omit("Number").Save(one)
	g.Model(one).Updates(one)
	g.Model(one).Select("*").Updates(one) // finds
	g.Model(one).Select("*").Updates(map[string]any{"note": 1})
	b.NewUpdate().Model(one).WherePK().Exec() // finds
	b.NewUpdate().Model(one).Column("note").WherePK().Exec()
	b.NewUpdate().Model(&Ticket{}).Exec() // finds
	x.ID(1).Update(one)
	x.ID(1).AllCols().Update(one) // finds
	{
		type Invoice struct { ID string; Number string ` + "`gorm:\"<-:create\" bun:\",nullzero,skipupdate\" xorm:\"<-\"`" + ` }
		g.Save(&Invoice{})
		b.NewUpdate().Model(&Invoice{}).Exec()
		x.AllCols().Update(&Invoice{})
	}
}
`
	for _, plugin := range []string{"", `_ "github.com/keyfill/keyfill/keyfillgorm"`} {
		text := fmt.Sprintf(program, plugin)
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, "shop.go", text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		pkg, err := (&types.Config{Importer: checked{}}).Check("shop", fset, []*ast.File{file}, info)
		if err != nil {
			t.Fatal(err)
		}
		var got, want []int
		for _, f := range j.Source(fset, gosql.Source{Package: pkg, Files: []*ast.File{file}, Info: info}) {
			if f.Rule == vet.RuleWholeUpdate {
				got = append(got, f.At.Line)
			}
		}
		for i, line := range strings.Split(text, "\n") {
			if strings.HasSuffix(line, "// finds") && plugin == "" {
				want = append(want, i+1)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the lines %v are found, want %v", plugin, got, want)
		}
	}
}
