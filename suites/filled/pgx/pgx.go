// Package pgx opens the databases of pgx's stdlib through keyfill: see package filled. Its
// functions replace the ones of stdlib that take no name of a driver.
package pgx

import (
	"database/sql"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib" // registers "pgx" and "pgx/v5"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/suites/filled"
)

func init() { filled.Driver("pgx", "pgx", "pgx/v5") }

// OpenDB is stdlib.OpenDB, through keyfill.
func OpenDB(config pgx.ConnConfig, options ...stdlib.OptionOpenDB) *sql.DB {
	if db := open(stdlib.GetConnector(config, options...)); db != nil {
		return db
	}
	return stdlib.OpenDB(config, options...)
}

// OpenDBFromPool is stdlib.OpenDBFromPool, through keyfill.
func OpenDBFromPool(pool *pgxpool.Pool, options ...stdlib.OptionOpenDB) *sql.DB {
	db := open(stdlib.GetPoolConnector(pool, options...))
	if db == nil {
		return stdlib.OpenDBFromPool(pool, options...)
	}
	db.SetMaxIdleConns(0) // as stdlib does: idle connections stay in the pool
	return db
}

// open opens the connector through keyfill. It returns nil where the program runs plain.
func open(c driver.Connector) *sql.DB {
	options, ok := filled.Options("pgx")
	if !ok {
		return nil
	}
	db, err := keyfill.OpenDB(c, options)
	if err != nil {
		panic(err)
	}
	mount, err := keyfill.From(db)
	if err != nil {
		panic(err)
	}
	filled.Count(mount)
	return db
}
