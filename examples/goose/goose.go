// Package goose runs migrations by goose, through the driver without keyfill, and
// then stores the shop through keyfill.
package goose

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"testing/fstest"

	"github.com/pressly/goose/v3"

	"github.com/keyfill/keyfill/examples/internal/shop"
	"github.com/keyfill/keyfill/examples/stdlib"
)

// Run migrates and stores the shop, and returns what the program knows of its rows.
func Run(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	if err := Migrate(ctx, at, at.Raw()); err != nil {
		return nil, err
	}
	return stdlib.Run(ctx, at)
}

// Migrate runs the migrations through the driver with that name. Through keyfill's driver
// the INSERT of products would be refused while the engine makes the keys of that column.
func Migrate(ctx context.Context, at shop.Database, driver string) error {
	db, err := sql.Open(driver, at.DSN)
	if err != nil {
		return err
	}
	defer db.Close()
	dialect := goose.Dialect(at.Engine)
	if at.Engine == "sqlite" {
		dialect = goose.DialectSQLite3
	}
	provider, err := goose.NewProvider(dialect, db, migrations(at.Engine))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	return err
}

// migrations are files as goose names and reads them. An application would embed a folder
// of such files.
func migrations(engine string) fs.FS {
	files := fstest.MapFS{}
	for i, step := range shop.Migrations(engine) {
		files[fmt.Sprintf("%05d_step.sql", i+1)] = &fstest.MapFile{Data: []byte("-- +goose Up\n" + step + ";\n")}
	}
	return files
}
