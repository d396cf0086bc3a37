// Package sqlx stores the shop through sqlx.
package sqlx

import (
	"context"

	"github.com/google/uuid"
	"github.com/jmoiron/sqlx"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
)

type customer struct {
	ID   uuid.UUID `db:"id"`
	Name string    `db:"name"`
}

type order struct {
	ID         int64     `db:"id"`
	CustomerID uuid.UUID `db:"customer_id"`
	Note       string    `db:"note"`
}

type product struct {
	ID    int64  `db:"id"`
	SKU   string `db:"sku"`
	Price int64  `db:"price"`
}

// Run stores the shop and returns what the structs hold then.
func Run(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	// sqlx finds the form of placeholders by the name of the driver, and does not know
	// keyfill's names.
	sqlx.BindDriver(at.Driver(), sqlx.BindType(at.Raw()))
	db, err := sqlx.Open(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()

	customers := []customer{{Name: "Ada"}, {Name: "Bob"}}
	orders, err := store(ctx, db, customers)
	if err != nil {
		return nil, err
	}
	pen, ink := product{SKU: "pen", Price: 1}, product{SKU: "ink", Price: 3}
	if err := put(ctx, db, at, &pen); err != nil {
		return nil, err
	}
	pen.ID, pen.Price = 0, 2
	for _, p := range []*product{&pen, &ink} {
		if err := put(ctx, db, at, p); err != nil {
			return nil, err
		}
	}

	var rows []shop.Row
	for _, c := range customers {
		rows = append(rows, shop.RowOf("customers", c.ID, c.Name))
	}
	for _, o := range orders {
		rows = append(rows, shop.RowOf("orders", o.ID, o.Note).Of(o.CustomerID))
	}
	return append(rows, shop.RowOf("products", pen.ID, pen.SKU), shop.RowOf("products", ink.ID, ink.SKU)), nil
}

// store inserts customers and their orders, by one INSERT each, in a transaction.
func store(ctx context.Context, db *sqlx.DB, customers []customer) ([]order, error) {
	tx, err := db.BeginTxx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer tx.Rollback()
	ctx, rec := keyfill.Record(ctx)
	if _, err := tx.NamedExecContext(ctx, "INSERT INTO customers (name) VALUES (:name)", customers); err != nil {
		return nil, err
	}
	var orders []order
	for i, key := range rec.Keys("customers") {
		c := &customers[i]
		c.ID = key.Key.(uuid.UUID)
		orders = append(orders, order{CustomerID: c.ID, Note: c.Name + " 1"}, order{CustomerID: c.ID, Note: c.Name + " 2"})
	}
	if _, err := tx.NamedExecContext(ctx, "INSERT INTO orders (customer_id, note) VALUES (:customer_id, :note)", orders); err != nil {
		return nil, err
	}
	for i, key := range rec.Keys("orders") {
		orders[i].ID = key.Key.(int64)
	}
	return orders, tx.Commit()
}

// put stores a product, or updates its price.
func put(ctx context.Context, db *sqlx.DB, at shop.Database, p *product) error {
	if at.Engine == "mysql" {
		result, err := db.NamedExecContext(ctx, "INSERT INTO products (sku, price) VALUES (:sku, :price) ON DUPLICATE KEY UPDATE price = VALUES(price)", p)
		if err != nil {
			return err
		}
		p.ID, err = result.LastInsertId()
		return err
	}
	query := db.Rebind("INSERT INTO products (sku, price) VALUES (?, ?) ON CONFLICT (sku) DO UPDATE SET price = excluded.price RETURNING id")
	return db.GetContext(ctx, &p.ID, query, p.SKU, p.Price)
}
