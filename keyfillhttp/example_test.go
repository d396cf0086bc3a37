package keyfillhttp_test

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillhttp"
	"github.com/keyfill/keyfill/policy"
)

// storing stands for a database's driver in the example: each statement stores one row.
type storing struct{}

func (storing) Open(string) (driver.Conn, error)             { return storing{}, nil }
func (storing) Connect(context.Context) (driver.Conn, error) { return storing{}, nil }
func (storing) Driver() driver.Driver                        { return storing{} }
func (storing) Close() error                                 { return nil }
func (storing) Begin() (driver.Tx, error)                    { return nil, errors.New("the example has no transaction") }
func (storing) Prepare(string) (driver.Stmt, error) {
	return nil, errors.New("the example prepares nothing")
}

func (storing) ExecContext(context.Context, string, []driver.NamedValue) (driver.Result, error) {
	return driver.RowsAffected(1), nil
}

func ExampleHandler() {
	cfg, err := policy.Parse([]byte("version: 1\ndialect: postgres\ntables: {orders: {column: id}}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := keyfill.OpenDB(storing{}, keyfill.Options{Policy: cfg})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	m, err := keyfill.From(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.Handle("/debug/keyfill", keyfillhttp.Handler(m))

	if _, err := db.Exec("INSERT INTO orders (note) VALUES ($1)", "a"); err != nil {
		fmt.Println(err)
		return
	}
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/debug/keyfill?format=json", nil))
	var report keyfillhttp.Report
	if err := json.NewDecoder(w.Body).Decode(&report); err != nil {
		fmt.Println(err)
		return
	}
	for _, table := range report.Tables {
		fmt.Println(table.Name, table.Keys, "key,", table.Stored, "stored")
	}
	// Output: orders 1 key, 1 stored
}

// A program that has a page of its own shows the same report there.
func ExampleNewReport() {
	cfg, err := policy.Parse([]byte("version: 1\ndialect: postgres\ntables: {orders: {column: id}}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	c, err := keyfill.WrapConnector(storing{}, keyfill.Options{Policy: cfg})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer c.Close()
	for _, source := range keyfillhttp.NewReport(c.Mount()).Sources {
		fmt.Println(source.Name, source.Kind)
	}
	// Output: orders.id uuidv7
}
