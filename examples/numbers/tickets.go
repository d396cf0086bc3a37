// Package numbers stores rows with numbers that people see: tickets that are numbered for
// each tenant, and invoices that begin again each year and have no gaps.
package numbers

import (
	"context"
	"database/sql"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
)

// Tickets stores the tickets of two tenants on MariaDB. Record returns their numbers.
func Tickets(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	db, err := sql.Open(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	const table = `CREATE TABLE IF NOT EXISTS tickets (
		number VARCHAR(20) NOT NULL PRIMARY KEY,
		tenant VARCHAR(12) COLLATE utf8mb4_bin NOT NULL,
		title  VARCHAR(40) NOT NULL)`
	if _, err := db.ExecContext(ctx, table); err != nil {
		return nil, err
	}
	var rows []shop.Row
	for _, t := range []struct{ tenant, title string }{{"acme", "printer"}, {"zoo", "gate"}, {"acme", "screen"}} {
		ctx, rec := keyfill.Record(ctx)
		if _, err := db.ExecContext(ctx, "INSERT INTO tickets (tenant, title) VALUES (?, ?)", t.tenant, t.title); err != nil {
			return nil, err
		}
		number, _ := keyfill.Last[string](rec, "tickets")
		rows = append(rows, shop.RowOf("tickets", number, t.title).Of(t.tenant))
	}
	return rows, nil
}
