// Package bun stores the shop through bun.
package bun

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
)

type customer struct {
	bun.BaseModel `bun:"table:customers"`

	ID   uuid.UUID `bun:"id,pk"`
	Name string    `bun:"name"`
}

type order struct {
	bun.BaseModel `bun:"table:orders"`

	ID         int64     `bun:"id,pk,autoincrement"`
	CustomerID uuid.UUID `bun:"customer_id"`
	Note       string    `bun:"note"`
}

type product struct {
	bun.BaseModel `bun:"table:products"`

	ID    int64  `bun:"id,pk,autoincrement"`
	SKU   string `bun:"sku"`
	Price int64  `bun:"price"`
}

// Run stores the shop and returns what the structs hold then.
func Run(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	filled, err := sql.Open(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	db := bun.NewDB(filled, dialectOf(at.Engine))
	defer db.Close()
	mount, err := keyfill.From(filled)
	if err != nil {
		return nil, err
	}

	// bun reads integer keys back on every engine. It reads a UUID back where there is
	// RETURNING, so the program asks keyfill for the UUIDs before it stores the rows.
	customers := []customer{{Name: "Ada"}, {Name: "Bob"}}
	keys, err := mount.Keys(ctx, "customers", len(customers))
	if err != nil {
		return nil, err
	}
	for i := range customers {
		if err := customers[i].ID.Scan(keys[i]); err != nil {
			return nil, err
		}
	}
	orders := make([]order, 0, 4)
	err = db.RunInTx(ctx, nil, func(ctx context.Context, tx bun.Tx) error {
		if _, err := tx.NewInsert().Model(&customers).Exec(ctx); err != nil {
			return err
		}
		for _, c := range customers {
			orders = append(orders, order{CustomerID: c.ID, Note: c.Name + " 1"}, order{CustomerID: c.ID, Note: c.Name + " 2"})
		}
		_, err := tx.NewInsert().Model(&orders).Exec(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}

	pen, again, ink := product{SKU: "pen", Price: 1}, product{SKU: "pen", Price: 2}, product{SKU: "ink", Price: 3}
	for _, p := range []*product{&pen, &again, &ink} {
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
	return append(rows, shop.RowOf("products", again.ID, again.SKU), shop.RowOf("products", ink.ID, ink.SKU)), nil
}

// put stores a product, or updates its price.
func put(ctx context.Context, db *bun.DB, at shop.Database, p *product) error {
	insert := db.NewInsert().Model(p)
	if at.Engine == "mysql" {
		insert = insert.On("DUPLICATE KEY UPDATE")
	} else {
		insert = insert.On("CONFLICT (sku) DO UPDATE").Set("price = EXCLUDED.price").Returning("id")
	}
	_, err := insert.Exec(ctx)
	return err
}

func dialectOf(engine string) schema.Dialect {
	switch engine {
	case "mysql":
		return mysqldialect.New()
	case "postgres":
		return pgdialect.New()
	}
	return sqlitedialect.New()
}
