package numbers

import (
	"context"
	"database/sql"
	"errors"

	"github.com/keyfill/keyfill/examples/internal/shop"
)

// Invoices stores invoices on PostgreSQL, whose numbers begin again with the year of issued_on.
// One transaction is rolled back: the next invoice of its year has its number.
func Invoices(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	db, err := sql.Open(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	const table = `CREATE TABLE IF NOT EXISTS invoices (
		id        UUID PRIMARY KEY,
		number    VARCHAR(16) NOT NULL UNIQUE,
		issued_on DATE NOT NULL,
		customer  VARCHAR(40) NOT NULL,
		cents     BIGINT NOT NULL)`
	if _, err := db.ExecContext(ctx, table); err != nil {
		return nil, err
	}
	var rows []shop.Row
	for _, i := range []struct {
		day, customer string
		cents         int64
	}{
		{"2026-12-31", "Ada", 1200},
		{"2027-01-02", "Bob", -5}, // fails
		{"2027-01-02", "Eve", 300},
		{"2026-12-31", "Dan", 4500}, // was forgotten
	} {
		number, err := invoice(ctx, db, i.day, i.customer, i.cents)
		switch {
		case err == nil:
			rows = append(rows, shop.RowOf("invoices", number, i.customer).Of(i.day))
		case !errors.Is(err, errAmount):
			return nil, err
		}
	}
	return rows, nil
}

var errAmount = errors.New("an invoice needs an amount above zero")

// invoice stores one invoice and returns its number.
func invoice(ctx context.Context, db *sql.DB, day, customer string, cents int64) (number string, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return "", err
	}
	defer tx.Rollback()
	err = tx.QueryRowContext(ctx, "INSERT INTO invoices (issued_on, customer, cents) VALUES ($1, $2, $3) RETURNING number", day, customer, cents).Scan(&number)
	if err != nil {
		return "", err
	}
	if cents <= 0 {
		return "", errAmount
	}
	return number, tx.Commit()
}
