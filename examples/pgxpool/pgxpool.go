// Package pgxpool stores the shop through a pool of pgx, with keyfill around the pool's
// connector. INSERTs that the program sends on the pool itself are not filled.
package pgxpool

import (
	"context"

	"github.com/jackc/pgx/v5/pgxpool"
	pgx "github.com/jackc/pgx/v5/stdlib"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
	"github.com/keyfill/keyfill/examples/stdlib"
)

// Run stores the shop and returns what the program knows of its rows.
func Run(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	pool, err := pgxpool.New(ctx, at.DSN)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	db, err := keyfill.OpenDB(pgx.GetPoolConnector(pool), keyfill.Options{})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return stdlib.Store(ctx, at, db)
}
