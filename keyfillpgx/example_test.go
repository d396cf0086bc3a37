package keyfillpgx_test

import (
	"context"
	"fmt"
	"os"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillpgx"
)

// The program needs a server, and prints "2 <nil>". The folder pgx of examples has a whole
// one.
func ExampleWrapPool() {
	ctx := context.Background()
	pool, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := keyfillpgx.WrapPool(pool, keyfill.Options{}) // the policy is in keyfill.yaml
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close() // closes the pool too
	rows := pgx.CopyFromRows([][]any{{"Ada"}, {"Bob"}})
	n, err := db.CopyFrom(ctx, pgx.Identifier{"customers"}, []string{"name"}, rows)
	fmt.Println(n, err)
}

// The program needs a server, and prints "1 <nil>" the first time.
func ExampleWrapConn() {
	ctx := context.Background()
	conn, err := pgx.Connect(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := keyfillpgx.WrapConn(ctx, conn, keyfill.Options{}) // the policy is in keyfill.yaml
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close(ctx)
	var id int64
	err = db.QueryRow(ctx, "INSERT INTO orders (note) VALUES ($1) RETURNING id", "a").Scan(&id)
	fmt.Println(id, err)
}
