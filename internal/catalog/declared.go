package catalog

import (
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// Declaration is a table as the statements of a script declare it.
type Declaration struct {
	Schema, Name string
	Visible      bool // a name without schema finds it

	View, Partition, Child, Split bool // as in the types [Table] and [Listed]

	Columns  []Declared
	Indexes  []DeclaredIndex
	Refers   []DeclaredReference
	Triggers []Trigger // the triggers that run at an INSERT
}

// DeclaredIndex is an index or a constraint of a table.
type DeclaredIndex struct {
	Name    string
	Columns []string // empty for an expression
	Unique  bool
	Primary bool
	Partial bool // the index covers only some of the rows
}

// DeclaredReference is a foreign key.
type DeclaredReference struct {
	Name    string
	Columns []string
	Parent  *Declaration
	To      []string // the columns of the parent; empty for its primary key
}

// Declared is a column as a script declares it.
type Declared struct {
	Name     string
	Type     string   // of the engine, in lower case, without sizes: "character varying"
	Sizes    []int    // the numbers in brackets after the type
	Words    []string // the other words of the type, in lower case: unsigned, zerofill
	Strings  bool     // the type holds strings, but this package does not know its name
	NotNull  bool
	Default  string // the text of the expression; empty without a default
	Computed bool   // the value is computed from other columns

	// Numbered is "AUTO_INCREMENT", "AUTOINCREMENT", "IDENTITY", "ALWAYS" or "BY
	// DEFAULT"; empty if the engine does not number the column.
	Numbered string

	Collation string
}

// Declare returns the overview of declared tables. [Overview.Find] returns [ErrNoTable] for
// any other table.
func Declare(d *dialect.Dialect, tables []*Declaration) *Overview {
	o := &Overview{dialect: d, declared: true}
	o.read = func(schema, table string) (*Table, error) {
		return nil, &Error{Table: qualified(schema, table), Err: ErrNoTable, Detail: "add its CREATE TABLE to the script"}
	}
	listed := map[*Declaration]*Listed{}
	for _, one := range tables {
		listed[one] = one.listed(d)
		o.Tables = append(o.Tables, listed[one])
	}
	for _, one := range tables {
		for _, ref := range one.Refers {
			o.refer(listed, one, ref)
		}
	}
	return o
}

// refer adds the foreign keys of a reference, one for each of its columns.
func (o *Overview) refer(listed map[*Declaration]*Listed, child *Declaration, ref DeclaredReference) {
	parent := listed[ref.Parent]
	if parent == nil {
		return
	}
	to := ref.To
	if len(to) == 0 {
		to = parent.Primary
	}
	for i, column := range ref.Columns {
		if i < len(to) {
			o.ForeignKeys = append(o.ForeignKeys, ForeignKey{Name: ref.Name, Table: listed[child], Column: column, Parent: parent, ParentColumn: to[i]})
		}
	}
}

// listed returns the description of the table that a live catalog would give.
func (t *Declaration) listed(d *dialect.Dialect) *Listed {
	l := &Listed{
		Table:   &Table{Schema: t.Schema, Name: t.Name, View: t.View, Partition: t.Partition, Child: t.Child, InsertTriggers: No, KeyTriggers: No},
		Visible: t.Visible, Split: t.Split, Triggers: t.Triggers,
		Nullable: map[string]bool{}, Default: map[string]string{},
	}
	if len(t.Triggers) > 0 {
		l.InsertTriggers, l.KeyTriggers = Yes, Yes
	}
	for _, c := range t.Columns {
		l.describeColumn(c.column(d), !c.NotNull, c.Default)
	}
	for _, index := range t.Indexes {
		if len(index.Columns) == 0 {
			continue
		}
		l.led(index.Columns[0], index.uniqueName(t), !index.Partial, len(index.Columns))
		if index.Unique && !index.Partial {
			l.Unique = append(l.Unique, index.Columns)
		}
		if index.Primary {
			l.Primary = index.Columns
			for _, column := range index.Columns {
				l.Nullable[column] = false
			}
		}
	}
	if complete := engines[d.Family].complete; complete != nil {
		complete(l, t)
	}
	return l
}

// uniqueName returns the name of a unique index of t; if the script gives no name, keyfill
// makes one up. It is empty for an index that is not unique.
func (i *DeclaredIndex) uniqueName(t *Declaration) string {
	switch {
	case !i.Unique:
		return ""
	case i.Name == "":
		return t.Name + "." + i.Columns[0]
	}
	return i.Name
}

// completeMySQL adds to l the unique indexes of t, and the indexes that the server creates
// for foreign keys without an index.
func completeMySQL(l *Listed, t *Declaration) {
	for i := range t.Indexes {
		if index := &t.Indexes[i]; len(index.Columns) > 0 && index.Unique && !index.Partial {
			l.UniqueIndexes = append(l.UniqueIndexes, UniqueIndex{Name: index.uniqueName(t), Columns: index.Columns})
		}
	}
	l.aloneInMySQL()
	for _, ref := range t.Refers {
		if len(ref.Columns) > 0 {
			l.led(ref.Columns[0], "", true, unknownColumns)
		}
	}
}

// size returns number i in the brackets after the type, or byDefault if the declaration
// leaves that number out.
func (c *Declared) size(i, byDefault int) int {
	if i < len(c.Sizes) {
		return c.Sizes[i]
	}
	return byDefault
}

// column returns the description of the column that a live catalog would give.
func (c *Declared) column(d *dialect.Dialect) Column {
	return engines[d.Family].column(c)
}

func (c *Declared) inMySQL() Column      { return columnOfMySQL(&cells{row: c.ofMySQL()}) }
func (c *Declared) inPostgreSQL() Column { return columnOfPostgreSQL(&cells{row: c.ofPostgreSQL()}) }
func (c *Declared) inSQLServer() Column  { return columnOfSQLServer(&cells{row: c.ofSQLServer()}) }
func (c *Declared) inOracle() Column     { return columnOfOracle(&cells{row: c.ofOracle()}) }

// written returns the type with its sizes.
func (c *Declared) written() string {
	text := c.Type
	if len(c.Sizes) > 0 {
		text += "(" + joinNumbers(c.Sizes) + ")"
	}
	return strings.Join(append([]string{text}, c.Words...), " ")
}

// joinNumbers returns numbers with commas between them.
func joinNumbers(all []int) string {
	var b strings.Builder
	for i, n := range all {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(strconv.Itoa(n))
	}
	return b.String()
}

// nullable returns a text as a catalog has it: NULL (nil) if it is empty.
func nullable(text string) any {
	if text == "" {
		return nil
	}
	return text
}

// ofMySQL returns the row that the query describeMySQL would return for the column.
func (c *Declared) ofMySQL() []any {
	kind := map[string]string{
		"integer": "int", "int4": "int", "int8": "bigint", "int2": "smallint", "dec": "decimal", "numeric": "decimal", "fixed": "decimal",
		"bool": "tinyint", "boolean": "tinyint", "serial": "bigint", "character": "char", "nchar": "char", "national char": "char",
		"character varying": "varchar", "nvarchar": "varchar", "varcharacter": "varchar", "double precision": "double", "real": "double",
		"long": "mediumtext", "long varchar": "mediumtext", "char byte": "binary",
	}[c.Type]
	if kind == "" {
		kind = c.Type
	}
	length, precision, scale := 0, 0, 0
	switch kind {
	case "char", "binary":
		length = c.size(0, 1)
	case "varchar", "varbinary":
		length = c.size(0, 0)
	case "decimal":
		precision, scale = c.size(0, 10), c.size(1, 0)
	}
	extra, written := "", c.written()
	if c.Type == "serial" {
		written = "bigint unsigned"
	}
	switch {
	case c.Computed:
		extra = "STORED GENERATED"
	case c.Numbered != "" || c.Type == "serial":
		extra = "AUTO_INCREMENT"
	}
	return []any{
		"column", int64(0), c.Name, kind, written, extra, nullable(c.Collation), nullable(c.Default),
		int64(length), int64(precision), int64(scale),
	}
}

// stringsOfPostgreSQL are the types of strings by their names in pg_type.
var stringsOfPostgreSQL = []string{"text", "varchar", "bpchar", "name", "citext"}

// namesOfPostgreSQL maps a type's other names to its name in pg_type. longOfPostgreSQL maps
// the name in pg_type to the name that format_type returns.
var (
	namesOfPostgreSQL = map[string]string{
		"smallint": "int2", "integer": "int4", "int": "int4", "bigint": "int8", "decimal": "numeric", "dec": "numeric",
		"smallserial": "int2", "serial": "int4", "bigserial": "int8", "serial2": "int2", "serial4": "int4", "serial8": "int8",
		"character varying": "varchar", "character": "bpchar", "char": "bpchar", "boolean": "bool", "real": "float4",
		"double precision": "float8", "float": "float8", "bit varying": "varbit",
		"timestamp without time zone": "timestamp", "timestamp with time zone": "timestamptz",
		"time without time zone": "time", "time with time zone": "timetz",
	}
	longOfPostgreSQL = map[string]string{
		"int2": "smallint", "int4": "integer", "int8": "bigint", "varchar": "character varying", "bpchar": "character",
		"bool": "boolean", "float4": "real", "float8": "double precision", "varbit": "bit varying",
		"timestamp": "timestamp without time zone", "timestamptz": "timestamp with time zone",
		"time": "time without time zone", "timetz": "time with time zone",
	}
)

// ofPostgreSQL returns the row that the query columnsPostgreSQL would return for the
// column.
func (c *Declared) ofPostgreSQL() []any {
	kind := c.Type
	if name := namesOfPostgreSQL[kind]; name != "" {
		kind = name
	}
	long, def := kind, c.Default
	if name := longOfPostgreSQL[kind]; name != "" {
		long = name
	}
	if strings.Contains(c.Type, "serial") {
		def = "nextval()"
	}
	mod := -1
	switch {
	case kind == "bpchar":
		mod = c.size(0, 1) + 4
	case kind == "varchar" && len(c.Sizes) > 0:
		mod = c.Sizes[0] + 4
	case kind == "numeric" && len(c.Sizes) > 0:
		mod = (c.Sizes[0]<<16 | c.size(1, 0)&0x7ff) + 4
	}
	if len(c.Sizes) > 0 || kind == "bpchar" {
		long += "(" + joinNumbers(append([]int{c.size(0, 1)}, c.Sizes[min(1, len(c.Sizes)):]...)) + ")"
	}
	category := "U"
	if c.Strings || slices.Contains(stringsOfPostgreSQL, kind) {
		category = "S"
	}
	identity := map[string]string{"ALWAYS": "a", "BY DEFAULT": "d"}[c.Numbered]
	computed := ""
	if c.Computed {
		computed = "s"
	}
	collation := c.Collation
	if collation == "" && category == "S" {
		collation = "default"
	}
	return []any{c.Name, long, kind, int64(mod), category, identity, computed, nullable(def), nullable(collation)}
}

// ofSQLServer returns the row that the query columnsSQLServer would return for the column.
func (c *Declared) ofSQLServer() []any {
	kind := c.Type
	if other := map[string]string{"integer": "int", "dec": "decimal", "character": "char", "character varying": "varchar", "rowversion": "timestamp", "national character varying": "nvarchar"}[kind]; other != "" {
		kind = other
	}
	length := c.size(0, 1) // 1 if the declaration gives no length
	if len(c.Sizes) == 0 && slices.Contains(c.Words, "max") {
		length = -1
	}
	if strings.HasPrefix(kind, "n") && kind != "numeric" {
		length *= 2
	}
	return []any{
		c.Name, kind, int64(length), int64(c.size(0, 18)), int64(c.size(1, 0)), c.Numbered != "", c.Computed,
		nullable(c.Default), nullable(c.Collation),
	}
}

// ofOracle returns the row that the query columnsOracle would return for the column.
func (c *Declared) ofOracle() []any {
	kind := strings.ToUpper(c.Type)
	var precision, scale any
	switch kind {
	case "INTEGER", "INT", "SMALLINT":
		kind, scale = "NUMBER", int64(0)
	case "DECIMAL", "NUMERIC", "NUMBER":
		kind = "NUMBER"
		if len(c.Sizes) > 0 {
			precision, scale = int64(c.Sizes[0]), int64(c.size(1, 0))
		}
	case "VARCHAR":
		kind = "VARCHAR2"
	}
	generation := map[string]string{"ALWAYS": "ALWAYS", "BY DEFAULT": "BY DEFAULT"}[c.Numbered]
	computed := "NO"
	if c.Computed {
		computed = "YES"
	}
	length := int64(c.size(0, 1))
	return []any{c.Name, kind, length, length, precision, scale, computed, nullable(generation), nullable(c.Default)}
}
