// Command examples stores a small shop in an empty database, by one of the libraries
// that Go programs use:
//
//	go run . gorm mysql 'root@tcp(127.0.0.1:3306)/shop'
//
// The engines are mysql, postgres and sqlite. Each library has a folder with the
// program that uses it; keyfill.yaml is the policy of them all.
//
// Two more programs store rows with numbers that people see:
//
//	go run . tickets mysql 'root@tcp(127.0.0.1:3306)/desk'
//	go run . invoices postgres postgres://localhost/books
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"slices"

	_ "github.com/keyfill/keyfill/auto/mysql"
	_ "github.com/keyfill/keyfill/auto/pgx"
	_ "github.com/keyfill/keyfill/auto/sqlite"

	"github.com/keyfill/keyfill/examples/bun"
	"github.com/keyfill/keyfill/examples/ent"
	"github.com/keyfill/keyfill/examples/goose"
	"github.com/keyfill/keyfill/examples/gorm"
	"github.com/keyfill/keyfill/examples/internal/shop"
	"github.com/keyfill/keyfill/examples/migrate"
	"github.com/keyfill/keyfill/examples/numbers"
	"github.com/keyfill/keyfill/examples/otelsql"
	"github.com/keyfill/keyfill/examples/pgx"
	"github.com/keyfill/keyfill/examples/pgxpool"
	"github.com/keyfill/keyfill/examples/sqlc"
	"github.com/keyfill/keyfill/examples/sqlx"
	"github.com/keyfill/keyfill/examples/stdlib"
	"github.com/keyfill/keyfill/examples/xorm"
)

// program is one of the examples.
type program struct {
	name     string
	run      func(context.Context, shop.Database) ([]shop.Row, error)
	migrates bool   // whether the program creates the tables itself
	only     string // the only engine that the program runs on; empty for all
}

var programs = []program{
	{name: "bun", run: bun.Run},
	{name: "ent", run: ent.Run},
	{name: "goose", run: goose.Run, migrates: true},
	{name: "gorm", run: gorm.Run},
	{name: "migrate", run: migrate.Run, migrates: true},
	{name: "otelsql-around", run: otelsql.Around},
	{name: "otelsql-inside", run: otelsql.Inside},
	{name: "pgx", run: pgx.Run, only: "postgres"},
	{name: "pgxpool", run: pgxpool.Run, only: "postgres"},
	{name: "sqlc", run: sqlc.Run},
	{name: "sqlc-pgx", run: sqlc.RunPgx, only: "postgres"},
	{name: "sqlx", run: sqlx.Run},
	{name: "stdlib", run: stdlib.Run},
	{name: "xorm", run: xorm.Run},
}

// numbered are the programs that store rows with numbers that people see, and no shop.
var numbered = []program{
	{name: "invoices", run: numbers.Invoices, migrates: true, only: "postgres"},
	{name: "tickets", run: numbers.Tickets, migrates: true, only: "mysql"},
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: go run . PROGRAM ENGINE DSN, in this folder")
	}
	all := slices.Concat(programs, numbered)
	i := slices.IndexFunc(all, func(p program) bool { return p.name == os.Args[1] })
	if i < 0 {
		log.Fatalf("there is no program %q", os.Args[1])
	}
	ctx, at := context.Background(), shop.Database{Engine: os.Args[2], DSN: os.Args[3]}
	if err := shop.Policy("."); err != nil {
		log.Fatal(err)
	}
	rows, err := store(ctx, all[i], at)
	if err != nil {
		log.Fatal(err)
	}
	for _, r := range rows {
		fmt.Println(r.Table, r.Key, r.Name, r.Parent)
	}
}

// store runs a program on an empty database and returns what its structs hold.
func store(ctx context.Context, p program, at shop.Database) ([]shop.Row, error) {
	if !p.migrates {
		if err := shop.Create(ctx, at); err != nil {
			return nil, err
		}
	}
	rows, err := p.run(ctx, at)
	shop.Sort(rows)
	return rows, err
}
