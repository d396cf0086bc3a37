package main

import (
	"database/sql"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/keyfill/keyfill"
	_ "github.com/keyfill/keyfill/auto/mysql"
	_ "github.com/keyfill/keyfill/auto/sqlite"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillgorm"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/publicid"
)

var mariadb = testdb.New(testdb.MariaDB())

// Customer is a model of GORM whose key is an id with a prefix. It has no tag for its key.
type Customer struct {
	ID      publicid.ID[Customer]
	Name    string
	Bills   []Bill
	MadeFor *publicid.ID[Customer]
}

// Bill belongs to a customer.
type Bill struct {
	ID         publicid.ID[Bill]
	CustomerID publicid.ID[Customer]
	Cents      int
}

// Prefix implements publicid.Type.
func (Customer) Prefix() string { return "cus" }

// Layout implements publicid.Stored.
func (Customer) Layout() dialect.Layout { return dialect.SequentialAsString }

// Prefix implements publicid.Type.
func (Bill) Prefix() string { return "bill" }

// Layout implements publicid.Stored.
func (Bill) Layout() dialect.Layout { return dialect.SequentialAsString }

// TestGORM: ids with a prefix are keys of GORM's models, are masked and found again, and find
// the rows of a time range.
func TestGORM(t *testing.T) {
	mask, err := publicid.NewMask("customers", []byte("32 random bytes: not in the code"))
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []struct {
		driver, dsn, column string
		dialector           func(*sql.DB) gorm.Dialector
	}{
		{"sqlite", "file:" + filepath.Join(t.TempDir(), "shop.db"), "CHAR(36)", func(db *sql.DB) gorm.Dialector { return sqlite.Dialector{Conn: db} }},
		{"mysql", mariadb.DSN(mariadb.Database(t, "mysql")), "CHAR(36) CHARACTER SET ascii", func(db *sql.DB) gorm.Dialector { return mysql.New(mysql.Config{Conn: db}) }},
		{"pgx", postgresql.DSN(postgresql.Database(t, "pgx")), "uuid", func(db *sql.DB) gorm.Dialector { return postgres.New(postgres.Config{Conn: db}) }},
	} {
		t.Run(engine.driver, func(t *testing.T) {
			name := engine.driver + "-gorm-keyfill"
			config := &policy.Config{Tables: map[string]policy.Table{"customers": {Column: "id"}, "bills": {Column: "id"}}}
			if _, err := keyfill.RegisterByName(name, engine.driver, keyfill.Options{Policy: config}); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open(name, engine.dsn)
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			g, err := gorm.Open(engine.dialector(db), &gorm.Config{})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Use(keyfillgorm.Plugin{}); err != nil {
				t.Fatal(err)
			}
			for _, table := range []string{
				"CREATE TABLE customers (id " + engine.column + " PRIMARY KEY, name VARCHAR(40), made_for " + engine.column + ")",
				"CREATE TABLE bills (id " + engine.column + " PRIMARY KEY, customer_id " + engine.column + ", cents INT)",
			} {
				if err := g.Exec(table).Error; err != nil {
					t.Fatal(err)
				}
			}
			begun := time.Now()
			ada := Customer{Name: "Ada", Bills: []Bill{{Cents: 1}, {Cents: 2}}}
			if err := g.Create(&ada).Error; err != nil {
				t.Fatal(err)
			}
			bob := Customer{Name: "Bob", MadeFor: &ada.ID}
			if err := g.Create(&bob).Error; err != nil {
				t.Fatal(err)
			}
			masked, err := mask.Hide(ada.ID.UUID())
			if err != nil {
				t.Fatal(err)
			}
			key, err := mask.Reveal(masked)
			if err != nil {
				t.Fatal(err)
			}
			var found Customer
			if err := g.Preload("Bills").First(&found, "id = ?", publicid.FromUUID[Customer](key)).Error; err != nil {
				t.Fatal(err)
			}
			if found.ID != ada.ID || found.ID.IsZero() || found.MadeFor != nil || len(found.Bills) != 2 || found.Bills[0].CustomerID != ada.ID || found.Bills[0].ID.IsZero() {
				t.Errorf("found is %+v, want %+v", found, ada)
			}
			low, high, err := publicid.Bounds[Customer](begun.Add(-time.Second), time.Now().Add(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			if err := g.Model(&Customer{}).Where("id >= ? AND id < ?", low, high).Order("id").Pluck("name", &names).Error; err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(names, []string{"Ada", "Bob"}) {
				t.Errorf("made in the last minutes were %q", names)
			}

			// GORM spreads an array after a bracket over as many placeholders.
			err = g.Exec("INSERT INTO customers (id, name) VALUES (?, ?)", [16]byte(key), "spread").Error
			if err == nil || !strings.Contains(err.Error(), "pass an id of 16 bytes as text") {
				t.Errorf("an array in Exec: error %v", err)
			}
		})
	}
}
