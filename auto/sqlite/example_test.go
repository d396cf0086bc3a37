package sqlite_test

import (
	"context"
	"database/sql"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	_ "github.com/keyfill/keyfill/auto/sqlite"
)

// The application changes the name of its driver, and a file says which table
// gets its key from where.
func Example() {
	folder, err := os.MkdirTemp("", "keyfill")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)
	file := filepath.Join(folder, "keyfill.yaml")
	text := "version: 1\ntables:\n  customers: {column: id, source: uuidv7}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		log.Fatal(err)
	}
	if err := os.Setenv("KEYFILL_CONFIG", file); err != nil {
		log.Fatal(err)
	}

	db, err := sql.Open("sqlite-keyfill", filepath.Join(folder, "shop.db"))
	if err != nil {
		log.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE customers (id TEXT PRIMARY KEY, name TEXT)"); err != nil {
		log.Fatal(err)
	}
	ctx, rec := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, "INSERT INTO customers (name) VALUES (?), (?)", "Ada", "Grace"); err != nil {
		log.Fatal(err)
	}

	rows, err := db.Query("SELECT name, id FROM customers ORDER BY id")
	if err != nil {
		log.Fatal(err)
	}
	defer rows.Close()
	for i := 0; rows.Next(); i++ {
		var name string
		var id uuid.UUID
		if err := rows.Scan(&name, &id); err != nil {
			log.Fatal(err)
		}
		fmt.Println(name, "has a key:", id.Version(), "as recorded:", rec.Keys("customers")[i].Key == id)
	}
	if err := rows.Err(); err != nil {
		log.Fatal(err)
	}
	// Output:
	// Ada has a key: VERSION_7 as recorded: true
	// Grace has a key: VERSION_7 as recorded: true
}
