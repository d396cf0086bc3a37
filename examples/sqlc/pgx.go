package sqlc

import (
	"context"
	"errors"
	"fmt"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
	shoppgx "github.com/keyfill/keyfill/examples/sqlc/pgx"
	"github.com/keyfill/keyfill/keyfillpgx"
)

// RunPgx stores the shop by pgx without database/sql: customers by :copyfrom, orders by
// :batchone. It returns what the program knows of its rows.
func RunPgx(ctx context.Context, at shop.Database) (rows []shop.Row, err error) {
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
		rows, err = copied(ctx, shoppgx.New(tx), "Ada", "Bob")
		return err
	})
	if err != nil {
		return nil, err
	}
	q := shoppgx.New(db)
	for _, p := range []shoppgx.PutProductParams{{Sku: "pen", Price: 1}, {Sku: "pen", Price: 2}, {Sku: "ink", Price: 3}} {
		product, err := q.PutProduct(ctx, p)
		if err != nil {
			return nil, err
		}
		if p.Price > 1 { // the pen is stored twice; only its last version counts
			rows = append(rows, shop.RowOf("products", product.ID, product.Sku))
		}
	}
	return rows, nil
}

// copied stores customers by one COPY, whose keys Record returns, and two orders of each
// by one batch.
func copied(ctx context.Context, q *shoppgx.Queries, names ...string) ([]shop.Row, error) {
	parents, rec := keyfill.Record(ctx)
	if _, err := q.CreateCustomers(parents, names); err != nil {
		return nil, err
	}
	var rows []shop.Row
	var orders []shoppgx.CreateOrdersParams
	for i, key := range rec.Keys("customers") {
		if key.Outcome != keyfill.Stored {
			return nil, fmt.Errorf("the row of %s is %v: look for it by its name", names[i], key.Outcome)
		}
		customer := key.Key.(uuid.UUID)
		rows = append(rows, shop.RowOf("customers", customer, names[i]))
		for n := range 2 {
			orders = append(orders, shoppgx.CreateOrdersParams{CustomerID: customer, Note: fmt.Sprintf("%s %d", names[i], n+1)})
		}
	}
	var failed error
	q.CreateOrders(ctx, orders).QueryRow(func(_ int, order shoppgx.Order, err error) {
		failed = errors.Join(failed, err)
		rows = append(rows, shop.RowOf("orders", order.ID, order.Note).Of(order.CustomerID))
	})
	return rows, failed
}
