// Package stdlib stores the shop by database/sql alone.
package stdlib

import (
	"context"
	"database/sql"
	"fmt"
	"strings"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
)

// Run stores the shop and returns what the program knows of its rows.
func Run(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	db, err := sql.Open(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return Store(ctx, at, db)
}

// Store stores the shop in a database that is open.
func Store(ctx context.Context, at shop.Database, db *sql.DB) ([]shop.Row, error) {
	p := program{at: at, db: db}
	if err := p.customers(ctx, "Ada", "Bob"); err != nil {
		return nil, err
	}
	if _, err := p.product(ctx, "pen", 1); err != nil {
		return nil, err
	}
	pen, err := p.product(ctx, "pen", 2) // the pen exists already: product returns the key of the existing row
	if err != nil {
		return nil, err
	}
	ink, err := p.product(ctx, "ink", 3)
	return append(p.rows, pen, ink), err
}

type program struct {
	at   shop.Database
	db   *sql.DB
	rows []shop.Row
}

// customers stores customers by one INSERT, and two orders of each, in one transaction.
// Record returns the keys, on every engine.
func (p *program) customers(ctx context.Context, names ...string) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	parents, rec := keyfill.Record(ctx)
	if _, err := tx.ExecContext(parents, p.text("INSERT INTO customers (name) VALUES (?), (?)"), names[0], names[1]); err != nil {
		return err
	}
	for i, key := range rec.Keys("customers") {
		if key.Outcome != keyfill.Stored {
			return fmt.Errorf("the row of %s is %v: look for it by its name", names[i], key.Outcome)
		}
		id := key.Key.(uuid.UUID)
		p.rows = append(p.rows, shop.RowOf("customers", id, names[i]))
		if err := p.orders(ctx, tx, id, names[i]+" 1", names[i]+" 2"); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// orders stores two orders by one INSERT.
func (p *program) orders(ctx context.Context, tx *sql.Tx, customer uuid.UUID, notes ...string) error {
	ctx, rec := keyfill.Record(ctx)
	_, err := tx.ExecContext(ctx, p.text("INSERT INTO orders (customer_id, note) VALUES (?, ?), (?, ?)"), customer, notes[0], customer, notes[1])
	for i, key := range rec.Keys("orders") {
		p.rows = append(p.rows, shop.RowOf("orders", key.Key, notes[i]).Of(customer))
	}
	return err
}

// product stores a product, or updates its price. Either way the program learns the key of
// the row: by RETURNING or, if the engine has none, by LastInsertId.
func (p *program) product(ctx context.Context, sku string, price int) (shop.Row, error) {
	var id int64
	var err error
	if p.at.Engine == "mysql" {
		var result sql.Result
		if result, err = p.db.ExecContext(ctx, "INSERT INTO products (sku, price) VALUES (?, ?) ON DUPLICATE KEY UPDATE price = VALUES(price)", sku, price); err == nil {
			id, err = result.LastInsertId()
		}
	} else {
		err = p.db.QueryRowContext(ctx, p.text("INSERT INTO products (sku, price) VALUES (?, ?) ON CONFLICT (sku) DO UPDATE SET price = excluded.price RETURNING id"), sku, price).Scan(&id)
	}
	return shop.RowOf("products", id, sku), err
}

// text returns a query with PostgreSQL's placeholders, if that is the engine.
func (p *program) text(query string) string {
	for n := 1; p.at.Engine == "postgres" && strings.Contains(query, "?"); n++ {
		query = strings.Replace(query, "?", fmt.Sprintf("$%d", n), 1)
	}
	return query
}
