package keyfillgorm_test

import (
	"context"
	"database/sql/driver"
	"fmt"

	"github.com/google/uuid"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	engine "modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillgorm"
	"github.com/keyfill/keyfill/policy"
)

// memory opens connections to a database in memory.
type memory struct{}

func (memory) Connect(context.Context) (driver.Conn, error) {
	return memory{}.Driver().Open(":memory:")
}
func (memory) Driver() driver.Driver { return &engine.Driver{} }

// The structs have their keys, and no tag speaks of them.
func ExamplePlugin() {
	type Order struct {
		ID         uuid.UUID
		CustomerID uuid.UUID
		Note       string
	}
	type Customer struct {
		ID     uuid.UUID
		Name   string
		Orders []Order
	}
	cfg, err := policy.Parse([]byte("version: 1\ntables: {customers: {column: id}, orders: {column: id}}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := keyfill.OpenDB(memory{}, keyfill.Options{Policy: cfg})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // a database in memory belongs to its connection
	g, err := gorm.Open(sqlite.New(sqlite.Config{Conn: db}), &gorm.Config{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := g.Use(keyfillgorm.Plugin{}); err != nil {
		fmt.Println(err)
		return
	}
	if err := g.AutoMigrate(&Customer{}, &Order{}); err != nil {
		fmt.Println(err)
		return
	}
	ada := Customer{Name: "Ada", Orders: []Order{{Note: "a"}, {Note: "b"}}}
	if err := g.Create(&ada).Error; err != nil {
		fmt.Println(err)
		return
	}
	var stored []Order
	if err := g.Where("customer_id = ?", ada.ID).Order("note").Find(&stored).Error; err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ada.ID.Version(), len(stored), stored[0].ID == ada.Orders[0].ID, stored[1].ID == ada.Orders[1].ID)
	// Output: VERSION_7 2 true true
}
