// Package keyfillgorm is a plugin of GORM that sets the keys of new rows in their
// structs before GORM sends the INSERT:
//
//	g, err := gorm.Open(mysql.New(mysql.Config{Conn: db}), &gorm.Config{})
//	err = g.Use(keyfillgorm.Plugin{})
//
// The database of GORM is one that keyfill has opened. Without the plugin GORM learns
// a key from RETURNING or LastInsertId. Neither tells a UUID on MySQL, and a field that
// GORM takes for the program's own, such as a UUID without a default in its tag, is
// not read back on any engine. With the plugin structs have their keys on each engine,
// so that children and join tables get them, and models need no tags for keyfill.
//
// # Which keys are set
//
// The plugin asks [keyfill.Mount.Keys] for a key where the field of the table's first
// key column is zero, and GORM could not read the key back. An integer whose field GORM
// counts as numbered by the engine, as the ID of gorm.Model, stays with RETURNING and
// LastInsertId, and so does a key of any type with a default in its tag where GORM uses
// RETURNING. Keys that belong to the transaction of their INSERT (transaction: joined,
// scope:, maxplusone) stay with the INSERT too, and so do the integers that SQLite keeps
// in the database itself.
//
// # Rows that are not stored
//
// ON CONFLICT, IGNORE and triggers may leave a row out, or change another row. Behind
// such an INSERT the plugin asks the database, by one SELECT, which of its keys are
// stored. Where a key is not, the struct gets the key of the row that was changed, if
// the conflict's columns name one row; otherwise its key is zero again. MariaDB's
// RETURNING tells all keys, so nothing is asked there. After an error all keys that the
// plugin has set are zero again.
//
// # Caveats
//
// The plugin leaves keys to the INSERT under GORM's dbresolver, in maps instead of
// structs, under DryRun, in a statement that names its schema or an expression by the
// method Table, in one whose RETURNING clause is the program's and has the key, and
// where one struct stands twice in a slice.
//
// [keyfill.Mount.Keys] does not know the schema of a session: where USE or SET
// search_path chooses a schema for each tenant, integers that are numbered by schema
// need a field that the engine numbers, or {value:…} in the name of their state.
package keyfillgorm

import (
	"errors"

	"gorm.io/gorm"

	"github.com/keyfill/keyfill"
)

// Plugin is the plugin, for the method Use of a gorm.DB. The zero value is ready. A
// Plugin is safe for concurrent use.
type Plugin struct {
	// Mount gives the keys. Where it is nil, it is the mount of GORM's database,
	// by [keyfill.From]. A program with another wrapper around keyfill takes it
	// from [keyfill.Mounts].
	Mount *keyfill.Mount
}

var _ gorm.Plugin = Plugin{}

// Name returns "keyfill", the name under which GORM knows the plugin.
func (Plugin) Name() string { return "keyfill" }

// Initialize registers the callbacks; the method Use of a gorm.DB calls it. It fails
// with [keyfill.ErrNotOurs] where it is to find the mount and cannot.
func (p Plugin) Initialize(db *gorm.DB) error {
	s := setter{mount: p.Mount}
	if s.mount == nil {
		pool, err := db.DB()
		if err != nil {
			return err
		}
		if s.mount, err = keyfill.From(pool); err != nil {
			return err
		}
	}
	create := db.Callback().Create()
	for _, clause := range create.Clauses {
		s.returning = s.returning || clause == "RETURNING"
	}
	return errors.Join(
		create.After("gorm:save_before_associations").Before("gorm:create").Register("keyfill:draw", s.draw),
		create.After("gorm:create").Before("gorm:save_after_associations").Register("keyfill:settle", s.settle),
	)
}
