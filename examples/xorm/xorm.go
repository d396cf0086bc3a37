// Package xorm stores the shop through xorm.
package xorm

import (
	"context"

	"github.com/google/uuid"
	"xorm.io/xorm"
	"xorm.io/xorm/dialects"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
)

type customer struct {
	ID   string `xorm:"'id' pk"`
	Name string `xorm:"'name'"`
}

func (customer) TableName() string { return "customers" }

type order struct {
	ID         int64  `xorm:"'id' pk autoincr"`
	CustomerID string `xorm:"'customer_id'"`
	Note       string `xorm:"'note'"`
}

func (order) TableName() string { return "orders" }

type product struct {
	ID    int64  `xorm:"'id' pk autoincr"`
	SKU   string `xorm:"'sku'"`
	Price int64  `xorm:"'price'"`
}

func (product) TableName() string { return "products" }

// Register registers keyfill's name of a driver with xorm, which accepts no unknown name.
func Register(at shop.Database) {
	if dialects.QueryDriver(at.Driver()) == nil {
		dialects.RegisterDriver(at.Driver(), dialects.QueryDriver(at.Raw()))
	}
}

// Run stores the shop and returns what the structs hold then.
func Run(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	Register(at)
	engine, err := xorm.NewEngine(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	defer engine.Close()

	rows, err := people(ctx, engine)
	if err != nil {
		return nil, err
	}
	ink := product{SKU: "ink", Price: 2}
	if _, err := engine.Context(ctx).Insert(&ink); err != nil { // Insert also sets ink.ID
		return nil, err
	}
	pen, again := product{SKU: "pen", Price: 1}, product{SKU: "pen", Price: 3}
	for _, p := range []*product{&pen, &again} {
		if err := put(ctx, engine, at, p); err != nil {
			return nil, err
		}
	}
	return append(rows, shop.RowOf("products", ink.ID, ink.SKU), shop.RowOf("products", again.ID, again.SKU)), nil
}

// people stores customers and their orders, by one INSERT each, in a transaction. xorm sets
// no key in the structs of several rows, and no key that is a text, so Record returns the
// keys.
func people(ctx context.Context, engine *xorm.Engine) ([]shop.Row, error) {
	session := engine.NewSession()
	defer session.Close()
	if err := session.Begin(); err != nil {
		return nil, err
	}
	ctx, rec := keyfill.Record(ctx)
	session.Context(ctx)
	customers := []*customer{{Name: "Ada"}, {Name: "Bob"}}
	if _, err := session.Insert(customers); err != nil {
		return nil, err
	}
	var rows []shop.Row
	var orders []*order
	for i, key := range rec.Keys("customers") {
		c := customers[i]
		c.ID = key.Key.(uuid.UUID).String()
		rows = append(rows, shop.RowOf("customers", c.ID, c.Name))
		orders = append(orders, &order{CustomerID: c.ID, Note: c.Name + " 1"}, &order{CustomerID: c.ID, Note: c.Name + " 2"})
	}
	session.Context(ctx)
	if _, err := session.Insert(orders); err != nil {
		return nil, err
	}
	for i, key := range rec.Keys("orders") {
		o := orders[i]
		o.ID = key.Key.(int64)
		rows = append(rows, shop.RowOf("orders", o.ID, o.Note).Of(o.CustomerID))
	}
	return rows, session.Commit()
}

// put stores a product, or updates the price of an existing one. xorm has no upsert, so
// that put writes the SQL. Either way the program learns the key of the row.
func put(ctx context.Context, engine *xorm.Engine, at shop.Database, p *product) error {
	const insert = "INSERT INTO products (sku, price) VALUES (?, ?) "
	if at.Engine == "mysql" {
		result, err := engine.Context(ctx).Exec(insert+"ON DUPLICATE KEY UPDATE price = VALUES(price)", p.SKU, p.Price)
		if err != nil {
			return err
		}
		p.ID, err = result.LastInsertId()
		return err
	}
	_, err := engine.Context(ctx).SQL(insert+"ON CONFLICT (sku) DO UPDATE SET price = excluded.price RETURNING id", p.SKU, p.Price).Get(&p.ID)
	return err
}
