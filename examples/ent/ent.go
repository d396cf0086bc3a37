// Package ent stores the shop through ent. The generated code is in testdata/shopent, which
// the go command's patterns skip, so that vet and the linters do not check it.
package ent

//go:generate go run -mod=mod entgo.io/ent/cmd/ent@v0.14.5 generate --feature sql/upsert --target ./testdata/shopent ./schema

import (
	"context"
	"database/sql"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/ent/testdata/shopent"
	"github.com/keyfill/keyfill/examples/ent/testdata/shopent/hook"
	"github.com/keyfill/keyfill/examples/internal/shop"
)

// dialects are ent's names of the engines. The generated Open uses them as names of
// drivers, and accepts only these names.
var dialects = map[string]string{"mysql": dialect.MySQL, "postgres": dialect.Postgres, "sqlite": dialect.SQLite}

// Run stores the shop and returns what the entities hold then.
func Run(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	db, err := sql.Open(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	client := shopent.NewClient(shopent.Driver(entsql.OpenDB(dialects[at.Engine], db)))
	defer client.Close()
	mount, err := keyfill.From(db)
	if err != nil {
		return nil, err
	}
	client.Customer.Use(keysFirst(mount))

	rows, err := people(ctx, client)
	if err != nil {
		return nil, err
	}
	products, err := store(ctx, client)
	return append(rows, products...), err
}

// keysFirst gives customers their keys before they are stored: without RETURNING, and in
// CreateBulk on every engine, ent learns no key that is not an integer.
func keysFirst(mount *keyfill.Mount) shopent.Hook {
	return func(next shopent.Mutator) shopent.Mutator {
		return hook.CustomerFunc(func(ctx context.Context, m *shopent.CustomerMutation) (shopent.Value, error) {
			if _, has := m.ID(); !has && m.Op().Is(shopent.OpCreate) {
				keys, err := mount.Keys(ctx, "customers", 1)
				if err != nil {
					return nil, err
				}
				var id uuid.UUID
				if err := id.Scan(keys[0]); err != nil {
					return nil, err
				}
				m.SetID(id)
			}
			return next.Mutate(ctx, m)
		})
	}
}

// people stores customers and their orders, by one INSERT each, in a transaction.
func people(ctx context.Context, client *shopent.Client) (rows []shop.Row, err error) {
	tx, err := client.Tx(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = tx.Rollback() // an error of Rollback is ignored, since err is the error to return
		}
	}()
	customers, err := tx.Customer.CreateBulk(tx.Customer.Create().SetName("Ada"), tx.Customer.Create().SetName("Bob")).Save(ctx)
	if err != nil {
		return nil, err
	}
	var builders []*shopent.OrderCreate
	for _, c := range customers {
		rows = append(rows, shop.RowOf("customers", c.ID, c.Name))
		for _, n := range []string{" 1", " 2"} {
			builders = append(builders, tx.Order.Create().SetCustomer(c).SetNote(c.Name+n))
		}
	}
	orders, err := tx.Order.CreateBulk(builders...).Save(ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range orders {
		rows = append(rows, shop.RowOf("orders", o.ID, o.Note).Of(o.CustomerID))
	}
	return rows, tx.Commit()
}

// store stores products, one of them again with its new price.
func store(ctx context.Context, client *shopent.Client) ([]shop.Row, error) {
	ink, err := client.Product.Create().SetSku("ink").SetPrice(3).Save(ctx)
	if err != nil {
		return nil, err
	}
	var pen int64
	for _, price := range []int64{1, 2} {
		pen, err = client.Product.Create().SetSku("pen").SetPrice(price).OnConflictColumns("sku").UpdateNewValues().ID(ctx)
		if err != nil {
			return nil, err
		}
	}
	return []shop.Row{shop.RowOf("products", ink.ID, ink.Sku), shop.RowOf("products", pen, "pen")}, nil
}
