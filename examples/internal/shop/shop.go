// Package shop is the shop whose rows every example stores, and what each example must
// return: the keys that its structs hold.
//
// A shop has customers, whose keys are UUIDs, orders of a customer, and products that are
// stored again when their price changes. The keys of the last two are integers.
package shop

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Database is where a program stores the shop.
type Database struct {
	Engine string // the name of the engine: mysql, postgres or sqlite
	DSN    string // the data source name as the engine's driver reads it
}

// Raw returns the name of the engine's driver.
func (d Database) Raw() string {
	if d.Engine == "postgres" {
		return "pgx"
	}
	return d.Engine
}

// Driver returns the name of the driver with keyfill around it.
func (d Database) Driver() string { return d.Raw() + "-keyfill" }

// Row is a row of the shop, as a struct of a program holds it, or as it is stored.
type Row struct {
	Table, Key, Name string
	Parent           string // the key of an order's customer
}

// RowOf returns what a struct holds, with its key as text.
func RowOf(table string, key any, name string) Row {
	return Row{Table: table, Key: fmt.Sprint(key), Name: name}
}

// Of returns a row that belongs to a parent.
func (r Row) Of(parent any) Row {
	r.Parent = fmt.Sprint(parent)
	return r
}

// Names are the rows that every program stores, by table and in order: two customers by one
// INSERT, two orders of each customer, and two products, one of which was stored before.
var Names = map[string][]string{
	"customers": {"Ada", "Bob"},
	"orders":    {"Ada 1", "Ada 2", "Bob 1", "Bob 2"},
	"products":  {"ink", "pen"},
}

// Create creates the tables, empty, with the driver without keyfill. The engine makes no
// keys, except for SQLite's INTEGER PRIMARY KEY, whose own keys are below the start of the
// numberings.
func Create(ctx context.Context, at Database) error {
	db, err := sql.Open(at.Raw(), at.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	for _, statement := range Tables(at.Engine) {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Tables returns the statements that create the tables.
func Tables(engine string) []string {
	uuid, integer := "CHAR(36)", "BIGINT"
	switch engine {
	case "postgres":
		uuid = "UUID"
	case "sqlite":
		uuid, integer = "TEXT", "INTEGER"
	}
	return []string{
		"CREATE TABLE IF NOT EXISTS customers (id " + uuid + " NOT NULL PRIMARY KEY, name VARCHAR(40) NOT NULL)",
		"CREATE TABLE IF NOT EXISTS orders (id " + integer + " NOT NULL PRIMARY KEY, customer_id " + uuid + " NOT NULL REFERENCES customers (id), note VARCHAR(40) NOT NULL)",
		"CREATE TABLE IF NOT EXISTS products (id " + integer + " NOT NULL PRIMARY KEY, sku VARCHAR(40) NOT NULL UNIQUE, price BIGINT NOT NULL)",
	}
}

// Stored returns the rows in the tables, sorted, as the driver without keyfill reads
// them.
func Stored(ctx context.Context, at Database) ([]Row, error) {
	db, err := sql.Open(at.Raw(), at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	rows, err := db.QueryContext(ctx, `SELECT 'customers', CAST(id AS CHAR(36)), name, '' FROM customers
		UNION ALL SELECT 'orders', CAST(id AS CHAR(36)), note, CAST(customer_id AS CHAR(36)) FROM orders
		UNION ALL SELECT 'products', CAST(id AS CHAR(36)), sku, '' FROM products`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var all []Row
	for rows.Next() {
		var r Row
		if err := rows.Scan(&r.Table, &r.Key, &r.Name, &r.Parent); err != nil {
			return nil, err
		}
		r.Key, r.Parent = strings.TrimRight(r.Key, " "), strings.TrimRight(r.Parent, " ")
		all = append(all, r)
	}
	Sort(all)
	return all, rows.Err()
}

// Sort orders rows by table and name.
func Sort(rows []Row) {
	slices.SortFunc(rows, func(a, b Row) int {
		return strings.Compare(a.Table+"\x00"+a.Name, b.Table+"\x00"+b.Name)
	})
}

// Policy makes $KEYFILL_CONFIG name the policy of the examples, unless the variable is set
// already.
func Policy(folder string) error {
	if os.Getenv("KEYFILL_CONFIG") != "" {
		return nil
	}
	return os.Setenv("KEYFILL_CONFIG", filepath.Join(folder, "keyfill.yaml"))
}
