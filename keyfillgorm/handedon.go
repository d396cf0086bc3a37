package keyfillgorm

import (
	"reflect"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/keyfill/keyfill/internal/anchor"
)

// lacking is a statement with a key that the plugin does not set, and that GORM does not
// read back. Its methods return an error if GORM would store 0 for the key, or would store
// the zero key in rows that refer to the struct's row.
type lacking struct {
	db    *gorm.DB
	field *schema.Field
}

// unknown returns the error for a table that the plugin does not know.
func (l lacking) unknown() error {
	if !l.any(l.handsOn) {
		return nil
	}
	return anchor.Lastf("policy", "keyfillgorm: the plugin sets no key of %q (%s) under dbresolver or a name by Table: set it in BeforeCreate, by keyfill.Mount.Keys", l.db.Statement.Table, l.field.Name)
}

// unset returns the error for a key that is drawn in the transaction of its INSERT.
func (l lacking) unset() error {
	switch {
	case l.any(l.storesZero):
		return anchor.Lastf("policy", "keyfillgorm: GORM would send the key %s of table %q as 0: tag the field primaryKey, or call Omit(%[1]q)", l.field.Name, l.db.Statement.Table)
	case l.any(l.handsOn):
		return anchor.Lastf("policy", "keyfillgorm: rows that refer to %q would store 0, since its key %s is drawn with the INSERT: tag the field default:(-), or take another source", l.db.Statement.Table, l.field.Name)
	}
	return nil
}

// uncreated returns the error for a field that GORM never puts into an INSERT.
func (l lacking) uncreated() error {
	if !l.any(l.handsOn) {
		return nil
	}
	return anchor.Lastf("policy", "keyfillgorm: GORM does not insert the key of table %q, %s: take <- out of the field's tag, and tag it primaryKey", l.db.Statement.Table, l.field.Name)
}

// copied returns the error for a struct that is given by value.
func (l lacking) copied() error {
	switch {
	case l.any(l.storesZero):
		return anchor.Lastf("policy", "keyfillgorm: the struct for table %q is given by value, so that its key %s would be stored as 0: give Create a pointer to it", l.db.Statement.Table, l.field.Name)
	case l.any(l.handsOn):
		return anchor.Lastf("policy", "keyfillgorm: the struct for table %q is given by value, and its key %s is handed on: give Create a pointer to it", l.db.Statement.Table, l.field.Name)
	}
	return nil
}

// twice returns the error for a struct that is in a slice twice.
func (l lacking) twice() error {
	switch {
	case l.any(l.storesZero):
		return anchor.Lastf("policy", "keyfillgorm: one struct for table %q stands twice in the slice, and its key %s would be 0: give each row its own struct", l.db.Statement.Table, l.field.Name)
	case l.any(l.handsOn):
		return anchor.Lastf("policy", "keyfillgorm: one struct for table %q stands twice in the slice, and its key %s is handed on: give each row its own struct", l.db.Statement.Table, l.field.Name)
	}
	return nil
}

// any reports whether is returns true for a struct that has no key.
func (l lacking) any(is func(rv reflect.Value) bool) bool {
	for _, rv := range structs(l.db.Statement.ReflectValue) {
		if !rv.IsValid() || rv.Kind() != reflect.Struct {
			return false // rv is a map, or a value for which GORM returns an error
		}
		if _, zero := l.field.ValueOf(l.db.Statement.Context, rv); zero && is(rv) {
			return true
		}
	}
	return false
}

// storesZero reports whether GORM would store 0 for the integer key of a struct. MySQL and
// MariaDB treat 0 as no key, and GORM leaves out a column with a default if its value is
// zero.
func (l lacking) storesZero(reflect.Value) bool {
	integer := l.field.GORMDataType == schema.Int || l.field.GORMDataType == schema.Uint
	return integer && l.db.Name() != "mysql" && !l.field.HasDefaultValue && inserted(l.db, l.field)
}

// handsOn reports whether GORM stores the struct's key in other rows too: in its
// associations, or, if the struct is an association itself, in its owner or in a row of the
// join table. The INSERTs of such structs have the clause DO NOTHING, while the INSERTs of
// children update their references to the owner.
func (l lacking) handsOn(rv reflect.Value) bool {
	stmt := l.db.Statement
	if c, ok := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict); ok && c.DoNothing && isAssociation(l.db) {
		return true
	}
	selected, restricted := stmt.SelectAndOmitColumns(true, false)
	relations := &stmt.Schema.Relationships
	for _, of := range [][]*schema.Relationship{relations.HasOne, relations.HasMany, relations.Many2Many} {
		for _, rel := range of {
			if chosen, named := selected[rel.Name]; (named && !chosen || !named && restricted) || !l.isReferred(rel) {
				continue
			}
			value, zero := rel.Field.ValueOf(stmt.Context, rv)
			if all := reflect.Indirect(reflect.ValueOf(value)); !zero && (all.Kind() != reflect.Slice || all.Len() > 0) {
				return true
			}
		}
	}
	return false
}

// isReferred reports whether the rows of a relationship refer to the key.
func (l lacking) isReferred(rel *schema.Relationship) bool {
	for _, ref := range rel.References {
		if ref.OwnPrimaryKey && ref.PrimaryKey == l.field {
			return true
		}
	}
	return false
}
