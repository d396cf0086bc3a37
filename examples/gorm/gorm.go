// Package gorm stores the shop through GORM, with keyfill's plugin. The models have no
// tags for their keys.
package gorm

import (
	"context"
	"database/sql"

	"github.com/google/uuid"
	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/keyfill/keyfill/examples/internal/shop"
	"github.com/keyfill/keyfill/keyfillgorm"
)

type customer struct {
	ID     uuid.UUID
	Name   string
	Orders []order
}

type order struct {
	ID         int64
	CustomerID uuid.UUID
	Note       string
}

type product struct {
	ID    int64
	SKU   string `gorm:"column:sku;unique"`
	Price int64
}

// Run stores the shop and returns what the structs hold then.
func Run(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	db, err := sql.Open(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	g, err := gorm.Open(dialector(at.Engine, db), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		return nil, err
	}
	if err := g.Use(keyfillgorm.Plugin{}); err != nil {
		return nil, err
	}
	g = g.WithContext(ctx)

	// One INSERT for the customers and one for all their orders, in a transaction.
	customers := []customer{
		{Name: "Ada", Orders: []order{{Note: "Ada 1"}, {Note: "Ada 2"}}},
		{Name: "Bob", Orders: []order{{Note: "Bob 1"}, {Note: "Bob 2"}}},
	}
	if err := g.Create(&customers).Error; err != nil {
		return nil, err
	}
	pen, again, ink := product{SKU: "pen", Price: 1}, product{SKU: "pen", Price: 2}, product{SKU: "ink", Price: 3}
	put := g.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "sku"}}, DoUpdates: clause.AssignmentColumns([]string{"price"})}).Session(&gorm.Session{})
	for _, p := range []*product{&pen, &again, &ink} {
		if err := put.Create(p).Error; err != nil {
			return nil, err
		}
	}

	rows := []shop.Row{shop.RowOf("products", again.ID, again.SKU), shop.RowOf("products", ink.ID, ink.SKU)}
	for _, c := range customers {
		rows = append(rows, shop.RowOf("customers", c.ID, c.Name))
		for _, o := range c.Orders {
			rows = append(rows, shop.RowOf("orders", o.ID, o.Note).Of(o.CustomerID))
		}
	}
	return rows, nil
}

// dialector gives GORM the database. GORM on MySQL has no RETURNING: here MariaDB is
// used like MySQL.
func dialector(engine string, db *sql.DB) gorm.Dialector {
	switch engine {
	case "mysql":
		return mysql.New(mysql.Config{Conn: db, DisableWithReturning: true})
	case "postgres":
		return postgres.New(postgres.Config{Conn: db})
	}
	return sqlite.New(sqlite.Config{Conn: db})
}
