// Package sqlc stores the shop through code that sqlc generates: for database/sql on each
// engine, and for pgx. The queries name no key.
package sqlc

//go:generate env CGO_ENABLED=0 go run github.com/sqlc-dev/sqlc/cmd/sqlc@v1.31.1 generate

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
	"github.com/keyfill/keyfill/examples/sqlc/mysql"
	"github.com/keyfill/keyfill/examples/sqlc/postgres"
	"github.com/keyfill/keyfill/examples/sqlc/sqlite"
)

// queries are what sqlc generates for database/sql. CreateOrder and PutProduct return the
// key of the row: by LastInsertId on MySQL, by RETURNING elsewhere.
type queries interface {
	CreateCustomers(ctx context.Context, first, second string) error
	CreateOrder(ctx context.Context, customer uuid.UUID, note string) (int64, error)
	PutProduct(ctx context.Context, sku string, price int64) (int64, error)
}

// queriesOf returns the queries of an engine, on a database or a transaction.
func queriesOf(engine string, db mysql.DBTX) queries {
	switch engine {
	case "mysql":
		return mysql.New(db)
	case "postgres":
		return postgres.New(db)
	}
	return sqlite.New(db)
}

// Run stores the shop by database/sql and returns what the program knows of its rows.
func Run(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	db, err := sql.Open(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	rows, err := customers(ctx, queriesOf(at.Engine, tx), "Ada", "Bob")
	if err != nil {
		return nil, err
	}
	if err := tx.Commit(); err != nil {
		return nil, err
	}
	products, err := products(ctx, queriesOf(at.Engine, db))
	return append(rows, products...), err
}

// customers stores two customers by one INSERT, whose keys Record returns, and two orders
// of each.
func customers(ctx context.Context, q queries, first, second string) ([]shop.Row, error) {
	parents, rec := keyfill.Record(ctx)
	if err := q.CreateCustomers(parents, first, second); err != nil {
		return nil, err
	}
	var rows []shop.Row
	for i, key := range rec.Keys("customers") {
		name := []string{first, second}[i]
		if key.Outcome != keyfill.Stored {
			return nil, fmt.Errorf("the row of %s is %v: look for it by its name", name, key.Outcome)
		}
		customer := key.Key.(uuid.UUID)
		rows = append(rows, shop.RowOf("customers", customer, name))
		for _, note := range []string{name + " 1", name + " 2"} {
			order, err := q.CreateOrder(ctx, customer, note)
			if err != nil {
				return nil, err
			}
			rows = append(rows, shop.RowOf("orders", order, note).Of(customer))
		}
	}
	return rows, nil
}

// products stores products, one of them again with its new price.
func products(ctx context.Context, q queries) ([]shop.Row, error) {
	if _, err := q.PutProduct(ctx, "pen", 1); err != nil {
		return nil, err
	}
	var rows []shop.Row
	for sku, price := range map[string]int64{"pen": 2, "ink": 3} {
		id, err := q.PutProduct(ctx, sku, price)
		if err != nil {
			return nil, err
		}
		rows = append(rows, shop.RowOf("products", id, sku))
	}
	return rows, nil
}
