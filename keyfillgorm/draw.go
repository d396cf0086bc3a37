package keyfillgorm

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/keyfill/keyfill"
)

// setter sets keys in structs.
type setter struct {
	mount     *keyfill.Mount
	returning bool // whether GORM uses RETURNING on this engine
}

// drawnKey is the name under which GORM's statement holds the keys that were set for it, as
// a *drawn.
const drawnKey = "keyfill:drawn"

// drawn are the keys that were set for a statement.
type drawn struct {
	table   string
	field   *schema.Field
	structs []reflect.Value // the structs that got a key from the plugin
	keys    []any           // the keys as GORM binds them
	rows    int             // the number of rows of the INSERT
	careful bool            // whether the INSERT may leave rows out, by ON CONFLICT or IGNORE

	// conflict is the statement's ON CONFLICT as the program or an association has
	// it; nil without one. The dialect of MySQL changes it when it writes the INSERT.
	conflict *clause.OnConflict

	// scanned reports whether RETURNING returns the key. told reports whether RETURNING
	// returns the key of every row, even of a row that existed before. It does on MariaDB,
	// where GORM writes DO NOTHING as an update.
	scanned, told bool

	// changed reports whether the plugin has chosen the key's column in addition to the
	// program's own columns; selects and omits are the program's own.
	selects, omits []string
	changed        bool
}

// draw sets keys in structs that lack them. It runs before GORM writes the INSERT.
func (s *setter) draw(db *gorm.DB) {
	db.InstanceSet(numbersKey, (*numbers)(nil))
	db.InstanceSet(drawnKey, (*drawn)(nil)) // a statement can be executed again, so remove the keys of its last execution
	if db.Error != nil || db.DryRun {
		return
	}
	if err := s.oneDatabase(db); err != nil {
		_ = db.AddError(err)
		return
	}
	n, err := s.expect(db)
	if err != nil {
		_ = db.AddError(err)
		return
	}
	d, err := s.drawFor(db, n)
	switch {
	case err != nil:
		if n != nil {
			n.end(db)
		}
		_ = db.AddError(err)
	case n != nil:
		n.begin(db, d)
	}
}

// drawFor sets keys in structs that lack them, and returns these keys, or nil. n are the
// numbers that the INSERT will draw, nil if there are none.
func (s *setter) drawFor(db *gorm.DB, n *numbers) (*drawn, error) {
	d, err := s.missing(db)
	if err != nil || d == nil || len(d.structs) == 0 {
		return nil, err
	}
	ctx := db.Statement.Context
	keys, err := s.mount.Keys(ctx, d.table, len(d.structs))
	if err != nil {
		return nil, err
	}
	for i, rv := range d.structs {
		value, err := d.set(ctx, rv, keys[i])
		if err != nil {
			d.zero(ctx)
			return nil, err
		}
		d.keys = append(d.keys, value)
	}
	if n.isBeside(d.field) && d.isNew(db) {
		delete(db.Statement.Clauses, "ON CONFLICT")
		d.conflict, d.careful = nil, false
	}
	if _, has := db.Statement.Clauses["RETURNING"]; s.returning && !has && d.conflict != nil && db.Name() == "mysql" {
		db.Statement.AddClause(returningOf(db.Statement.Schema, d.field))
	}
	d.choose(db)
	d.scanned = s.returns(db, d.field)
	d.told = d.scanned && d.conflict != nil && (db.Name() == "mysql" || !d.conflict.DoNothing)
	db.InstanceSet(drawnKey, d)
	note(db, d)
	return d, nil
}

// missing returns the structs whose keys the plugin should set, or nil. It returns an error
// if the plugin cannot set a key and GORM would store 0 for it, or would store the zero key
// in rows that refer to the struct.
func (s *setter) missing(db *gorm.DB) (*drawn, error) {
	table, known := tableOf(db)
	if table == "" {
		return nil, nil
	}
	column, anytime := s.mount.KeyColumn(table)
	if column == "" {
		return nil, nil
	}
	field := fieldOf(db.Statement.Schema, column)
	if field == nil || s.readsBack(db, field) {
		return nil, nil
	}
	l := lacking{db, field}
	d := &drawn{table: table, field: field}
	c, conflict := db.Statement.Clauses["ON CONFLICT"]
	_, insert := db.Statement.Clauses["INSERT"] // the program has set a clause such as INSERT IGNORE
	d.careful = conflict || insert
	if written, ok := c.Expression.(clause.OnConflict); ok {
		d.conflict = &written
	}
	switch {
	case !known:
		return nil, l.unknown()
	case !anytime:
		return nil, l.unset()
	case !field.Creatable || d.conflict != nil && d.conflict.UpdateAll && !field.PrimaryKey && !inserted(db, field):
		// If the plugin chose the column, an upsert would change the column too.
		return nil, l.uncreated()
	}
	twice := false
	seen := map[any]bool{}
	for _, rv := range structs(db.Statement.ReflectValue) {
		if !rv.IsValid() || rv.Kind() != reflect.Struct {
			return nil, nil // rv is a map, or a value for which GORM returns an error
		}
		if !rv.CanAddr() {
			return nil, l.copied() // rv is a copy of the program's struct
		}
		d.rows++
		if _, zero := field.ValueOf(db.Statement.Context, rv); !zero {
			continue
		}
		if seen[rv.Addr().Interface()] {
			twice = true
			continue
		}
		seen[rv.Addr().Interface()] = true
		d.structs = append(d.structs, rv)
	}
	if twice && !isAssociation(db) {
		return nil, l.twice() // one struct cannot hold the two keys of its two rows
	}
	return d, nil
}

// isNew reports whether the clause ON CONFLICT of an association finds no row, since it names
// the primary key, which the plugin has just drawn for each row. keyfill refuses the clause
// where an INSERT draws numbers without gaps, and cannot see that the keys are new.
func (d *drawn) isNew(db *gorm.DB) bool {
	primary := db.Statement.Schema.PrimaryFields
	if !isAssociation(db) || d.conflict == nil || d.conflict.DoNothing || len(d.structs) != d.rows {
		return false
	}
	named := d.conflict.Columns
	return len(primary) == 1 && primary[0] == d.field && len(named) == 1 && named[0].Name == d.field.DBName
}

// oneDatabase returns an error if GORM would send a zero key and the mount (keyfill's
// handle on a database) cannot make keys, since it is not the mount of exactly one
// database.
func (s *setter) oneDatabase(db *gorm.DB) error {
	table, known := tableOf(db)
	if !known || !sendsZero(db) {
		return nil
	}
	if column, _ := s.mount.KeyColumn(table); column != "" {
		return nil
	}
	// The call asks for 0 keys, so that it makes none. It always fails: with ErrNotOne, or
	// else because of the number 0.
	if _, err := s.mount.Keys(db.Statement.Context, table, 0); errors.Is(err, keyfill.ErrNotOne) {
		return err
	}
	return nil
}

// sendsZero reports whether GORM would send a zero value for a primary key.
func sendsZero(db *gorm.DB) bool {
	for _, rv := range structs(db.Statement.ReflectValue) {
		if !rv.IsValid() || rv.Kind() != reflect.Struct {
			return false // rv is a map, or a value for which GORM returns an error
		}
		for _, field := range db.Statement.Schema.PrimaryFields {
			if field.HasDefaultValue {
				continue
			}
			if _, zero := field.ValueOf(db.Statement.Context, rv); zero {
				return true
			}
		}
	}
	return false
}

// tableOf returns the name of a statement's table, or an empty text if it has no table or
// brings its own SQL. known reports whether the plugin knows for certain which table and
// database are meant.
func tableOf(db *gorm.DB) (table string, known bool) {
	stmt := db.Statement
	if stmt.Schema == nil || stmt.SQL.Len() > 0 {
		return "", false
	}
	_, resolves := db.Plugins["gorm:db_resolver"]
	switch expr := stmt.TableExpr; {
	case expr == nil, expr.SQL == stmt.Quote(stmt.Table):
		return stmt.Table, !resolves
	case expr.SQL == stmt.Quote(stmt.Schema.Table): // the expression is the model's table name, with its schema
		return stmt.Schema.Table, !resolves
	}
	return stmt.Table, false
}

// fieldOf returns the field of a column, whose case the policy may have folded.
func fieldOf(s *schema.Schema, column string) *schema.Field {
	if f := s.FieldsByDBName[column]; f != nil {
		return f
	}
	for name, f := range s.FieldsByDBName {
		if strings.EqualFold(name, column) {
			return f
		}
	}
	return nil
}

// readsBack reports whether GORM learns the key of a row without the plugin. GORM does so
// only for a column that it leaves out of the INSERT when the field is zero.
func (s *setter) readsBack(db *gorm.DB, field *schema.Field) bool {
	if !field.HasDefaultValue || field.DefaultValueInterface != nil {
		return false
	}
	if _, own := db.Statement.Clauses["RETURNING"]; s.returning && own {
		return s.returns(db, field)
	}
	integer := field.GORMDataType == schema.Int || field.GORMDataType == schema.Uint
	return s.returning || integer && field == db.Statement.Schema.PrioritizedPrimaryField
}

// returns reports whether the RETURNING clause of a statement has the field.
func (s *setter) returns(db *gorm.DB, field *schema.Field) bool {
	c, ok := db.Statement.Clauses["RETURNING"]
	if !ok || !s.returning {
		return false
	}
	returning, _ := c.Expression.(clause.Returning)
	for _, column := range returning.Columns {
		if column.Name == "*" || strings.EqualFold(column.Name, field.DBName) {
			return true
		}
	}
	return len(returning.Columns) == 0 // RETURNING without columns returns all columns
}

// returningOf returns the clause that asks for the key, and for the columns that GORM
// would ask for without the plugin.
func returningOf(s *schema.Schema, key *schema.Field) clause.Returning {
	r := clause.Returning{Columns: []clause.Column{{Name: key.DBName}}}
	for _, f := range s.FieldsWithDefaultDBValue {
		if f.Readable && f != key {
			r.Columns = append(r.Columns, clause.Column{Name: f.DBName})
		}
	}
	return r
}

// inserted reports whether GORM puts the field into the INSERT if it has a value: the
// program may have chosen other columns by Select or Omit.
func inserted(db *gorm.DB, field *schema.Field) bool {
	selected, restricted := db.Statement.SelectAndOmitColumns(true, false)
	chosen, named := selected[field.DBName]
	return field.Creatable && (named && chosen || !named && !restricted)
}

// choose adds the key's column if Select or Omit leaves it out: otherwise the row would get
// a key that differs from the struct's.
func (d *drawn) choose(db *gorm.DB) {
	if inserted(db, d.field) {
		return
	}
	stmt := db.Statement
	d.selects, d.omits, d.changed = stmt.Selects, stmt.Omits, true
	stmt.Omits = nil
	for _, name := range d.omits {
		switch _, column, _ := strings.Cut(name, "."); {
		case stmt.Schema.LookUpField(name) == d.field, column == d.field.DBName && strings.HasPrefix(name, stmt.Table):
		case name == "*", column == "*" && strings.HasPrefix(name, stmt.Table):
			for _, other := range stmt.Schema.DBNames {
				if other != d.field.DBName {
					stmt.Omits = append(stmt.Omits, other)
				}
			}
		default:
			stmt.Omits = append(stmt.Omits, name)
		}
	}
	if !inserted(db, d.field) {
		stmt.Selects = append(slices.Clip(stmt.Selects), d.field.DBName)
	}
}

// restore undoes what choose has done.
func (d *drawn) restore(db *gorm.DB) {
	if d.changed {
		db.Statement.Selects, db.Statement.Omits = d.selects, d.omits
	}
}

// structs returns the structs that an INSERT stores.
func structs(v reflect.Value) []reflect.Value {
	switch v.Kind() {
	case reflect.Slice, reflect.Array:
		all := make([]reflect.Value, v.Len())
		for i := range all {
			all[i] = reflect.Indirect(v.Index(i))
		}
		return all
	}
	return []reflect.Value{v}
}

// zero sets the keys of all structs to zero.
func (d *drawn) zero(ctx context.Context) {
	for _, rv := range d.structs {
		d.field.ReflectValueOf(ctx, rv).SetZero()
	}
}
