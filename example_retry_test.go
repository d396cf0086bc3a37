package keyfill_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/keyfill/keyfill"
)

// A transaction that the engine has undone for the sake of another one is made again, with
// the same keys.
func ExampleRetry() {
	db, err := keyfill.OpenDB(printer{}, options(uuids))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	ctx := context.Background()
	attempts := 0
	err = keyfill.Retry(ctx, db, func(tx *sql.Tx) error {
		attempts++
		if _, err := tx.ExecContext(ctx, "INSERT INTO orders (note) VALUES ($1)", "a"); err != nil {
			return err
		}
		if attempts == 1 {
			return serialization // as an engine says it, by its SQLSTATE 40001
		}
		return nil
	}, keyfill.RetryOptions{Attempts: 3})
	fmt.Println(attempts, "attempts", err)
	// Output:
	// INSERT INTO orders (note, "id") VALUES ($1, $2)
	//    a
	//    019b76da-a800-7000-8000-000000000001
	// INSERT INTO orders (note, "id") VALUES ($1, $2)
	//    a
	//    019b76da-a800-7000-8000-000000000001
	// 2 attempts <nil>
}
