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
	returning bool // GORM uses RETURNING
}

// drawnKey is the name under which a statement has its drawn keys.
const drawnKey = "keyfill:drawn"

// drawn are the keys that were set for a statement.
type drawn struct {
	table   string
	field   *schema.Field
	structs []reflect.Value // the structs that got a key
	keys    []any           // the keys as GORM binds them
	rows    int             // the number of rows of the INSERT
	careful bool            // the INSERT may leave rows out

	// conflict is the statement's ON CONFLICT as the program or an association has
	// it; nil without one. The dialect of MySQL changes it when it writes the INSERT.
	conflict *clause.OnConflict

	// scanned reports whether RETURNING returns the key. told reports whether it returns
	// the key of each row, even of a row that existed before: MariaDB does, since GORM
	// writes DO NOTHING there as an update.
	scanned, told bool

	// changed reports whether the plugin has chosen the key's column in addition to the
	// program's own columns; selects and omits are the program's own.
	selects, omits []string
	changed        bool
}

// draw sets keys in structs that lack them. It runs before GORM writes the INSERT.
func (s *setter) draw(db *gorm.DB) {
	db.InstanceSet(drawnKey, (*drawn)(nil)) // a statement can be executed again
	if db.Error != nil || db.DryRun {
		return
	}
	if err := s.oneDatabase(db); err != nil {
		_ = db.AddError(err)
		return
	}
	d, err := s.missing(db)
	if err != nil {
		_ = db.AddError(err)
		return
	}
	if d == nil || len(d.structs) == 0 {
		return
	}
	ctx := db.Statement.Context
	keys, err := s.mount.Keys(ctx, d.table, len(d.structs))
	if err != nil {
		_ = db.AddError(err)
		return
	}
	for i, rv := range d.structs {
		value, err := d.set(ctx, rv, keys[i])
		if err != nil {
			d.zero(ctx)
			_ = db.AddError(err)
			return
		}
		d.keys = append(d.keys, value)
	}
	if _, has := db.Statement.Clauses["RETURNING"]; s.returning && !has && d.conflict != nil && db.Name() == "mysql" {
		db.Statement.AddClause(returningOf(db.Statement.Schema, d.field))
	}
	d.choose(db)
	d.scanned = s.returns(db, d.field)
	d.told = d.scanned && d.conflict != nil && (db.Name() == "mysql" || !d.conflict.DoNothing)
	db.InstanceSet(drawnKey, d)
	note(db, d)
}

// missing returns the structs that lack their key and should get one, nil if there are
// none. It returns an error if GORM would store 0 for a key that no struct can get, or
// would store a zero key in rows that refer to the struct.
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
	_, insert := db.Statement.Clauses["INSERT"] // such as INSERT IGNORE
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
			return nil, nil // GORM returns an error for it, or it is a map
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
		return nil, l.twice() // two rows of one struct have two keys
	}
	return d, nil
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
	// The call asks for 0 keys, so that none is drawn. It fails for that number too, with
	// another error.
	if _, err := s.mount.Keys(db.Statement.Context, table, 0); errors.Is(err, keyfill.ErrNotOne) {
		return err
	}
	return nil
}

// sendsZero reports whether GORM would send a zero value for a primary key.
func sendsZero(db *gorm.DB) bool {
	for _, rv := range structs(db.Statement.ReflectValue) {
		if !rv.IsValid() || rv.Kind() != reflect.Struct {
			return false // GORM returns an error for it, or it is a map
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

// tableOf returns the name of a statement's table, empty if it has none or brings its own
// SQL. known reports whether the plugin knows the table, and the database that it is in.
func tableOf(db *gorm.DB) (table string, known bool) {
	stmt := db.Statement
	if stmt.Schema == nil || stmt.SQL.Len() > 0 {
		return "", false
	}
	_, resolves := db.Plugins["gorm:db_resolver"]
	switch expr := stmt.TableExpr; {
	case expr == nil, expr.SQL == stmt.Quote(stmt.Table):
		return stmt.Table, !resolves
	case expr.SQL == stmt.Quote(stmt.Schema.Table): // the table's name with its schema
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

// readsBack reports whether GORM learns the key of a row without the plugin. It does so
// only if it leaves the column out of the INSERT; otherwise it would send a zero value.
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
	return len(returning.Columns) == 0 // no columns means all columns
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
// another key than the struct has.
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
