package keyfillgorm

import (
	"reflect"
	"slices"

	"gorm.io/gorm"
)

// keptKey is the name under which GORM's statement holds the columns that the program itself
// has omitted, as a []string.
const keptKey = "keyfill:kept"

// keep leaves the numbers that the struct of an UPDATE lacks out of the statement: a struct
// that was read without them, or made by hand, would store 0 or an empty text over them. Such
// are the updates of whole structs, by Save and Select("*"). A column that the program
// names is sent as the program says.
func (s *setter) keep(db *gorm.DB) {
	if db.Error != nil || db.Statement.Schema == nil || !slices.Contains(db.Statement.Selects, "*") {
		return
	}
	values := reflect.Indirect(reflect.ValueOf(db.Statement.Dest))
	table, _ := tableOf(db)
	if table == "" || !values.IsValid() || values.Type() != db.Statement.Schema.ModelType {
		return // a map, which sets the columns that it names
	}
	omits := db.Statement.Omits
	for _, column := range s.mount.KeyColumns(table) {
		field := fieldOf(db.Statement.Schema, column)
		if field == nil || field.PrimaryKey || slices.Contains(db.Statement.Selects, field.Name) || slices.Contains(db.Statement.Selects, field.DBName) {
			continue
		}
		if _, zero := field.ValueOf(db.Statement.Context, values); zero {
			db.Statement.Omits = append(slices.Clip(db.Statement.Omits), field.DBName)
		}
	}
	if len(db.Statement.Omits) > len(omits) {
		db.Statement.Settings.Store(keptKey, omits)
	}
}

// release gives a statement back what the program has omitted: Save may send an INSERT after
// an UPDATE that has found no row.
func release(db *gorm.DB) {
	if omits, kept := db.Statement.Settings.LoadAndDelete(keptKey); kept {
		db.Statement.Omits, _ = omits.([]string)
	}
}
