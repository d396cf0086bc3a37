package keyfillgorm

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"reflect"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/anchor"
)

// setter sets keys in structs.
type setter struct {
	mount     *keyfill.Mount
	returning bool // GORM uses RETURNING
}

// drawnKey is the name under which a statement has what was drawn for it.
const drawnKey = "keyfill:drawn"

// drawn are the keys that were set for a statement.
type drawn struct {
	table   string
	field   *schema.Field
	structs []reflect.Value // that got a key
	keys    []any           // as GORM binds them
	rows    int             // of the INSERT
	careful bool            // the INSERT may leave rows out

	// conflict is the statement's ON CONFLICT as the program or an association has
	// it; nil without one. The dialect of MySQL changes it when it writes the INSERT.
	conflict *clause.OnConflict

	// scanned says that RETURNING gives the key, told that it gives the key of each
	// row, also where it was there: MariaDB's does, since GORM writes DO NOTHING there
	// as an update.
	scanned, told bool
}

// draw sets keys where they are missing. It runs before GORM writes the INSERT.
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
		value, err := set(ctx, d.field, rv, keys[i])
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
	d.scanned = s.returns(db, d.field)
	d.told = d.scanned && d.conflict != nil && (db.Name() == "mysql" || !d.conflict.DoNothing)
	db.InstanceSet(drawnKey, d)
	note(db, d)
}

// missing returns the structs that lack the key and are to get it, else nil. It is an
// error where GORM would store 0 for a key that no struct can get.
func (s *setter) missing(db *gorm.DB) (*drawn, error) {
	table, ok := tableOf(db)
	if !ok {
		return nil, nil
	}
	column, anytime := s.mount.KeyColumn(table)
	if column == "" {
		return nil, nil
	}
	field := fieldOf(db.Statement.Schema, column)
	if field == nil || s.readsBack(db, field) || !inserted(db, field) {
		return nil, nil
	}
	if !anytime {
		return nil, unset(db, field)
	}
	d := &drawn{table: table, field: field}
	c, conflict := db.Statement.Clauses["ON CONFLICT"]
	_, insert := db.Statement.Clauses["INSERT"] // with IGNORE, say
	d.careful = conflict || insert
	if written, ok := c.Expression.(clause.OnConflict); ok {
		d.conflict = &written
	}

	seen := map[any]bool{}
	for _, rv := range structs(db.Statement.ReflectValue) {
		if !rv.IsValid() || rv.Kind() != reflect.Struct {
			return nil, nil // GORM has an error for it, or it is a map
		}
		if !rv.CanAddr() {
			return nil, copied(db, field, rv) // it is a copy of the program's struct
		}
		if seen[rv.Addr().Interface()] {
			return nil, nil // two rows of one struct have two keys
		}
		seen[rv.Addr().Interface()] = true
		d.rows++
		if _, zero := field.ValueOf(db.Statement.Context, rv); zero {
			d.structs = append(d.structs, rv)
		}
	}
	return d, nil
}

// copied returns an error for a struct that is given by value, where GORM would send 0
// for its integer key, and only MySQL and MariaDB take 0 for no key.
func copied(db *gorm.DB, field *schema.Field, rv reflect.Value) error {
	if !storesZero(db, field, rv) {
		return nil
	}
	return anchor.Lastf("policy", "keyfillgorm: the struct for table %q is given by value, so that its key %s would be stored as 0: give Create a pointer to it", db.Statement.Table, field.Name)
}

// storesZero reports whether GORM would store 0 for the integer key of a struct. MySQL and
// MariaDB take 0 for no key, and a column with a default is left out where it is zero.
func storesZero(db *gorm.DB, field *schema.Field, rv reflect.Value) bool {
	if field.GORMDataType != schema.Int && field.GORMDataType != schema.Uint || db.Name() == "mysql" || field.HasDefaultValue {
		return false
	}
	_, zero := field.ValueOf(db.Statement.Context, rv)
	return zero
}

// unset returns an error for a struct whose key is drawn in the transaction of its INSERT,
// so that no struct can get it beforehand, where GORM would send 0 for it.
func unset(db *gorm.DB, field *schema.Field) error {
	for _, rv := range structs(db.Statement.ReflectValue) {
		if !rv.IsValid() || rv.Kind() != reflect.Struct {
			return nil // GORM has an error for it, or it is a map
		}
		if storesZero(db, field, rv) {
			return anchor.Lastf("policy", "keyfillgorm: the key %s of table %q would be stored as 0, since GORM sends it and its number is drawn with the INSERT: tag the field primaryKey, or call Omit(%[1]q)", field.Name, db.Statement.Table)
		}
	}
	return nil
}

// oneDatabase returns an error where the mount is not of one database, so that it has
// no keys, and GORM would send a zero value for one.
func (s *setter) oneDatabase(db *gorm.DB) error {
	table, ok := tableOf(db)
	if !ok || !sendsZero(db) {
		return nil
	}
	if column, _ := s.mount.KeyColumn(table); column != "" {
		return nil
	}
	// No keys are asked for, so that none are drawn: the number is refused as well.
	if _, err := s.mount.Keys(db.Statement.Context, table, 0); errors.Is(err, keyfill.ErrNotOne) {
		return err
	}
	return nil
}

// sendsZero reports whether GORM would send a zero value for a primary key.
func sendsZero(db *gorm.DB) bool {
	for _, rv := range structs(db.Statement.ReflectValue) {
		if !rv.IsValid() || rv.Kind() != reflect.Struct {
			return false // GORM has an error for it, or it is a map
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

// tableOf returns the name of a statement's table, and false where the plugin does not
// know it, or not the database that it is in.
func tableOf(db *gorm.DB) (string, bool) {
	stmt := db.Statement
	if _, resolves := db.Plugins["gorm:db_resolver"]; resolves || stmt.Schema == nil || stmt.SQL.Len() > 0 {
		return "", false
	}
	switch expr := stmt.TableExpr; {
	case expr == nil, expr.SQL == stmt.Quote(stmt.Table):
		return stmt.Table, true
	case expr.SQL == stmt.Quote(stmt.Schema.Table): // with its schema
		return stmt.Schema.Table, true
	}
	return "", false
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

// readsBack reports whether GORM learns the key of a row by itself, which is so only
// where it leaves the column out of the INSERT: it would send a zero value otherwise.
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
	return len(returning.Columns) == 0 // which is all of them
}

// returningOf returns the clause that asks for the key, and for what GORM would ask for
// without it.
func returningOf(s *schema.Schema, key *schema.Field) clause.Returning {
	r := clause.Returning{Columns: []clause.Column{{Name: key.DBName}}}
	for _, f := range s.FieldsWithDefaultDBValue {
		if f.Readable && f != key {
			r.Columns = append(r.Columns, clause.Column{Name: f.DBName})
		}
	}
	return r
}

// inserted reports whether GORM puts the field into the INSERT when it has a value: the
// program may have chosen other ones by Select or Omit.
func inserted(db *gorm.DB, field *schema.Field) bool {
	selected, restricted := db.Statement.SelectAndOmitColumns(true, false)
	chosen, named := selected[field.DBName]
	return field.Creatable && (named && chosen || !named && !restricted)
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

// set sets a key and returns it as GORM binds it. The two must be the same, or the key
// is stored in another form than keyfill's.
func set(ctx context.Context, field *schema.Field, rv reflect.Value, key driver.Value) (any, error) {
	if err := field.Set(ctx, rv, key); err != nil {
		return nil, err
	}
	value, _ := field.ValueOf(ctx, rv)
	sent, err := driver.DefaultParameterConverter.ConvertValue(value)
	if err != nil {
		return nil, err
	}
	if !equal(sent, key) {
		return nil, anchor.Lastf("policy", "keyfillgorm: field %s sends its key, as %T, in another form than the policy's %T: set layout: in the policy, or choose another type", field.Name, sent, key)
	}
	return value, nil
}

// equal compares two values of a driver.
func equal(a, b driver.Value) bool {
	x, isBytes := a.([]byte)
	y, areBytes := b.([]byte)
	if isBytes || areBytes {
		return isBytes && areBytes && bytes.Equal(x, y)
	}
	return a == b
}

// zero takes all keys away.
func (d *drawn) zero(ctx context.Context) {
	for _, rv := range d.structs {
		d.field.ReflectValueOf(ctx, rv).SetZero()
	}
}
