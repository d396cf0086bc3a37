package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInitCode: the comments of the policy say what the INSERTs in the code show about
// each table, and which one would be refused.
func TestInitCode(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module shop.test/shop\n\ngo 1.26\n",
		"shop.go": `package shop

import "database/sql"

func store(db *sql.DB, table string) error {
	for _, query := range []string{
		"INSERT INTO customers (name) VALUES ($1)",
		"INSERT INTO customers (name, note) VALUES ($1, $2)",
		"INSERT INTO devices (id, name) VALUES ($1, $2)",
		"INSERT INTO countries (code, name) VALUES ($1, $2)",
		"INSERT INTO customers SELECT * FROM devices",
		"INSERT INTO elsewhere (a) VALUES (1)",
	} {
		if _, err := db.Exec(query); err != nil {
			return err
		}
	}
	_, err := db.Exec("INSERT INTO " + table + " (a) VALUES (1)")
	return err
}
`,
		"schema.sql": "CREATE TABLE customers (id uuid PRIMARY KEY, name text, note text);\n" +
			"CREATE TABLE devices (id uuid PRIMARY KEY, name text);\nCREATE TABLE countries (code varchar(8) PRIMARY KEY, name text);\n",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(folder)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "-mod=mod")
	out := keyfillOut(t, "", "init", "--schema", "schema.sql", "--dialect", "postgres", "--code", "./...")
	plain := strings.Join(strings.Fields(strings.ReplaceAll(out, "#", " ")), " ")
	for _, want := range []string{
		"INSERTs in the Go code: 7. Without a key: 2; with the key column: 2; refused: 1; into other tables: 1; put together when the program runs: 1.",
		"INSERTs into it in the code: 3. Without a key: 2; with the key column: 0; refused: 1; put together when the program runs: 0.",
		"shop.go:11: an INSERT into customers is refused",
		"INSERTs into it in the code: 1. Each names the key column. devices: {column: id, source: uuidv7}",
		"countries: {column: code, source: {kind: coprime, length: 8}} code may have a meaning of its own, which the application brings. INSERTs into it in the code: 1. Each names the key column.",
	} {
		if !strings.Contains(plain, want) {
			t.Errorf("the policy does not say %q:\n%s", want, out)
		}
	}
}
