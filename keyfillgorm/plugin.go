// Package keyfillgorm is a plugin of GORM that sets the keys of new rows in their structs
// before GORM sends the INSERT:
//
//	g, err := gorm.Open(mysql.New(mysql.Config{Conn: db}), &gorm.Config{})
//	err = g.Use(keyfillgorm.Plugin{})
//
// The database of GORM is one that keyfill has opened. Without the plugin GORM learns a key
// from RETURNING or LastInsertId. Neither returns a UUID on MySQL, and a field that GORM
// takes for the program's own, such as a UUID without a default in its tag, is not read
// back on any engine. With the plugin structs have their keys on each engine, so that
// children and join tables get them, and models need no tags for keyfill.
//
// # Which keys are set
//
// The plugin asks [keyfill.Mount.Keys] for a key if the field of the table's first key
// column is zero and GORM could not read the key back. An integer whose field GORM counts
// as numbered by the engine, as the ID of gorm.Model, stays with RETURNING and
// LastInsertId, and so does a key of any type with a default in its tag where GORM uses
// RETURNING. Keys that belong to the transaction of their INSERT (transaction: joined,
// scope:, maxplusone) stay with the INSERT too, and so do the integers that SQLite keeps in
// the database itself.
//
// # Rows that are not stored
//
// ON CONFLICT, IGNORE and triggers may leave a row out, or change another row. After such
// an INSERT the plugin asks the database, by one SELECT, which of its keys are stored.
// Where a key is not, the struct gets the key of the row that was changed, if the
// conflict's columns name one row; otherwise its key is zero again. MariaDB's RETURNING
// returns all keys, so nothing is asked there. After an error of an INSERT the keys that
// the plugin has set for it are zero again. Where GORM rolls back the transaction that it
// has begun for a Create or a Save, so are the keys of parents and children. In a
// transaction of the program's own, and in CreateInBatches, structs keep the keys of the
// INSERTs before the error: they are in no row after a rollback.
//
// # Numbers beside the key
//
// GORM would keep 0 or an empty text in the field of a number that stands beside the key (a
// column of keys: in the policy), and Save would store that. The plugin writes into the
// struct what the INSERT has stored, from what keyfill has sent ([keyfill.Record]), or by one
// SELECT where a row may have been left out, where the number is a UUID, and under the
// program's own Record. It does so too for a key that is drawn with the INSERT, if GORM
// cannot read it back. A number that no struct of the statement has is left out of the
// INSERT, so that an upsert of all columns keeps the number of a row that is there.
//
// Save, and Updates with Select("*"), leave a number out of the UPDATE that the struct does
// not have, as one that was read without the column.
//
// A Create fails before anything is sent where GORM would store 0 for an integer, since
// another struct of the slice has a number: the tag default:(-) helps. It fails too for a
// struct with a key that is given by value. Where the field cannot hold the number, the
// Create fails after the INSERT, which GORM rolls back in its own transaction.
//
// A child of which the plugin has just drawn the primary key is stored without the clause
// ON CONFLICT of GORM's associations, if it has a number beside the key. keyfill refuses
// that clause for numbers without gaps. On MySQL and MariaDB, where the clause is for every
// unique index, a child that breaks another one is an error then.
//
// # One struct in several places
//
// Where several parents have one struct, as in User{Company: co} twice, GORM stores it with
// a clause for rows that are there, and the plugin gives it one key: it is one row, to
// which all of them refer. A struct that stands twice in the slice that the program gives
// to Create is two rows, which have two keys, and the struct learns none of them.
//
// # Select and Omit
//
// Where the program leaves the key's column out, and GORM could not read the key back, the
// plugin chooses the column too, so that the row has the key of its struct.
//
// # Caveats
//
// The plugin leaves keys to the INSERT under GORM's dbresolver, in maps instead of structs,
// under DryRun, in a statement that names its schema or an expression by the method Table,
// and where one struct stands twice in the program's slice, or is given by value. A field
// without a default in its tag sends a zero value there. Under the policy's fill: zero, the
// default except for integers, the row gets a key, which the struct does not learn. A
// Create fails before anything is sent where the zero key would be stored in rows that
// refer to the struct, and where it is an integer that is stored as 0, except on MySQL and
// MariaDB, where 0 is no key.
//
// A field gets its key by sql.Scanner, or as GORM sets a text, an integer or bytes. An
// array without sql.Scanner, such as the UUID of the standard library from Go 1.27 on, gets
// it by encoding.TextUnmarshaler. go-sql-driver/mysql v1.10 takes no such array as an
// argument, with keyfill or without.
//
// A Create fails with [keyfill.ErrNotOne] where Mount is the mount of a registered name
// through which no database, or more than one, is open, and GORM would send a zero key.
//
// [keyfill.Mount.Keys] does not know the schema of a session: where USE or SET search_path
// chooses a schema for each tenant, integers that are numbered by schema need a field that
// the engine numbers, or {value:…} in the name of their state.
package keyfillgorm

import (
	"errors"

	"gorm.io/gorm"

	"github.com/keyfill/keyfill"
)

// Plugin is the plugin to give to the method Use of a gorm.DB. The zero value is ready. A
// Plugin is safe for concurrent use.
type Plugin struct {
	// Mount makes the keys. If it is nil, the plugin uses the mount of GORM's database,
	// which [keyfill.From] returns. A program with another wrapper around keyfill gets the
	// mount from [keyfill.Mounts].
	Mount *keyfill.Mount
}

var _ gorm.Plugin = Plugin{}

// Name returns "keyfill", the name under which GORM knows the plugin.
func (Plugin) Name() string { return "keyfill" }

// Initialize registers the callbacks; the method Use of a gorm.DB calls it. It fails with
// [keyfill.ErrNotOurs] if Mount is nil and GORM's database was not opened by keyfill.
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
	update := db.Callback().Update() // an UPDATE may store associations by INSERTs, which need keys too
	return errors.Join(
		create.Before("gorm:before_create").Register("keyfill:begin", begin),
		create.After("gorm:commit_or_rollback_transaction").Register("keyfill:undo", undo),
		update.Before("gorm:setup_reflect_value").Register("keyfill:begin", begin),
		update.After("gorm:commit_or_rollback_transaction").Register("keyfill:undo", undo),
		update.After("gorm:save_before_associations").Before("gorm:update").Register("keyfill:keep", s.keep),
		update.After("gorm:update").Before("gorm:save_after_associations").Register("keyfill:release", release),
		create.After("gorm:save_before_associations").Before("gorm:create").Register("keyfill:draw", s.draw),
		create.After("gorm:create").Before("gorm:save_after_associations").Register("keyfill:settle", s.settle),
	)
}
