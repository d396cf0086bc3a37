// Package pgx stores the shop by pgx without database/sql: customers by COPY, orders by a
// batch in a transaction, products by an upsert with named arguments.
package pgx

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
	"github.com/keyfill/keyfill/keyfillpgx"
)

// Run stores the shop and returns what the program knows of its rows.
func Run(ctx context.Context, at shop.Database) (rows []shop.Row, err error) {
	pool, err := pgxpool.New(ctx, at.DSN)
	if err != nil {
		return nil, err
	}
	db, err := keyfillpgx.WrapPool(pool, keyfill.Options{})
	if err != nil {
		pool.Close()
		return nil, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	err = pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		rows, err = customers(ctx, tx, "Ada", "Bob")
		return err
	})
	for _, p := range []struct {
		sku   string
		price int
	}{{"pen", 1}, {"pen", 2}, {"ink", 3}} {
		if err != nil {
			return nil, err
		}
		var id int64
		err = db.QueryRow(ctx, "INSERT INTO products (sku, price) VALUES (@sku, @price) ON CONFLICT (sku) DO UPDATE SET price = excluded.price RETURNING id",
			pgx.NamedArgs{"sku": p.sku, "price": p.price}).Scan(&id)
		if p.price > 1 { // the pen is stored twice; only its last version counts
			rows = append(rows, shop.RowOf("products", id, p.sku))
		}
	}
	return rows, err
}

// customers stores customers by one COPY, whose keys Record returns, and two orders of
// each by one batch.
func customers(ctx context.Context, tx pgx.Tx, names ...string) ([]shop.Row, error) {
	parents, rec := keyfill.Record(ctx)
	if _, err := tx.CopyFrom(parents, pgx.Identifier{"customers"}, []string{"name"}, pgx.CopyFromSlice(len(names), func(i int) ([]any, error) {
		return []any{names[i]}, nil
	})); err != nil {
		return nil, err
	}
	var rows []shop.Row
	orders := &pgx.Batch{}
	for i, key := range rec.Keys("customers") {
		if key.Outcome != keyfill.Stored {
			return nil, fmt.Errorf("the row of %s is %v: look for it by its name", names[i], key.Outcome)
		}
		customer := key.Key.(uuid.UUID)
		rows = append(rows, shop.RowOf("customers", customer, names[i]))
		for n := range 2 {
			note := fmt.Sprintf("%s %d", names[i], n+1)
			orders.Queue("INSERT INTO orders (customer_id, note) VALUES ($1, $2) RETURNING id", customer, note).QueryRow(func(row pgx.Row) error {
				var id int64
				err := row.Scan(&id)
				rows = append(rows, shop.RowOf("orders", id, note).Of(customer))
				return err
			})
		}
	}
	return rows, tx.SendBatch(ctx, orders).Close()
}
