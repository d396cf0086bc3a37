// Package pgx opens the databases of pgx's stdlib through keyfill: see package filled. Its
// functions replace those functions of stdlib that open a database without the name of a
// driver.
package pgx

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib" // registers "pgx" and "pgx/v5"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/suites/filled"
)

func init() { filled.Driver("pgx", "pgx", "pgx/v5") }

// OpenDB does what stdlib.OpenDB does, through keyfill.
func OpenDB(config pgx.ConnConfig, options ...stdlib.OptionOpenDB) *sql.DB {
	return filled.OpenDB("pgx", stdlib.GetConnector(config, options...))
}

// OpenDBFromPool does what stdlib.OpenDBFromPool does, through keyfill.
func OpenDBFromPool(pool *pgxpool.Pool, options ...stdlib.OptionOpenDB) *sql.DB {
	db := filled.OpenDB("pgx", stdlib.GetPoolConnector(pool, options...))
	db.SetMaxIdleConns(0) // stdlib does so too, since idle connections stay in the pool of pgx
	return db
}

// WithTables returns a pool whose database has keyfill's tables if the program runs
// filled, in the schema of a session with the default search path.
func WithTables(pool *pgxpool.Pool) *pgxpool.Pool {
	if !filled.Runs("pgx") {
		return pool
	}
	ctx := context.Background()
	c, err := pgx.ConnectConfig(ctx, pool.Config().ConnConfig)
	if err != nil {
		panic(err)
	}
	defer c.Close(ctx)
	for _, statement := range store.DDL(dialect.PostgreSQL()) {
		if _, err := c.Exec(ctx, statement); err != nil {
			panic(err)
		}
	}
	return pool
}

// Conn returns the connection of stdlib for the connection that sql.Conn.Raw passes to its
// function.
func Conn(driverConn any) *stdlib.Conn { return keyfill.Unwrap(driverConn).(*stdlib.Conn) }
