package shop

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

const insertOrder = "INSERT INTO orders (note) VALUES (?)"

const copyOrders = "INSERT INTO orders SELECT * FROM carts" // want `keyfill/refused: an INSERT into orders is refused: the INSERT has no column list`

const insertNote = "INSERT INTO notes SELECT * FROM drafts"

func add(ctx context.Context, db *sql.DB, note, table string, notes []string) error {
	if _, err := db.ExecContext(ctx, insertOrder, note); err != nil {
		return fmt.Errorf("insert into orders failed: %w", err)
	}
	res, err := db.ExecContext(ctx, insertOrder+" ON DUPLICATE KEY UPDATE note = note", note)
	if err != nil {
		return err
	}
	if _, err := res.LastInsertId(); err != nil {
		return err
	}
	res, err = db.ExecContext(ctx, "INSERT INTO customers (name) VALUES (?)", note)
	if err != nil {
		return err
	}
	if _, err := res.LastInsertId(); err != nil { // want `keyfill/lastinsertid: the key of this INSERT into customers is no integer`
		return err
	}
	_, err = db.Exec("INSERT INTO archive SELECT * FROM orders") // want `keyfill/refused: an INSERT into archive goes out without a key`
	if err != nil {
		return err
	}
	_, err = db.Exec("INSERT INTO archive SELECT * FROM orders") //keyfill:ignore refused the archive makes its own keys
	if err != nil {
		return err
	}
	//keyfill:ignore keyfill/refused it is a test
	if _, err := db.Exec(
		`INSERT INTO orders SELECT 1`,
	); err != nil {
		return err
	}
	/* want `keyfill/ignore: the comment turns off nothing` */ //keyfill:ignore refused nothing
	var b strings.Builder
	b.WriteString("INSERT INTO orders (note) VALUES (?)")
	for range notes {
		b.WriteString(", (?)")
	}
	_, err = db.Exec(b.String())
	return err
}
