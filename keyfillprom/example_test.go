package keyfillprom_test

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillprom"
	"github.com/keyfill/keyfill/policy"
)

func ExampleNewCollector() {
	cfg, err := policy.Parse([]byte("version: 1\ntables: {orders: {column: id, source: uuidv7}}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := keyfill.OpenDB(connector{":memory:"}, keyfill.Options{Policy: cfg})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // a database in memory belongs to its connection
	m, err := keyfill.From(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(keyfillprom.NewCollector(m, "shop"))

	for _, query := range []string{"CREATE TABLE orders (id TEXT PRIMARY KEY, note TEXT)", "INSERT INTO orders (note) VALUES ('a'), ('b')"} {
		if _, err := db.Exec(query); err != nil {
			fmt.Println(err)
			return
		}
	}
	families, err := registry.Gather()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, family := range families {
		if family.GetName() == "keyfill_keys_total" {
			fmt.Println(family.GetName(), family.GetMetric()[0].GetCounter().GetValue())
		}
	}
	// Output: keyfill_keys_total 2
}
