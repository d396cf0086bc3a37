// Package migrate runs migrations by golang-migrate, through the driver without
// keyfill, and then stores the shop through keyfill.
package migrate

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing/fstest"

	"github.com/golang-migrate/migrate/v4"
	"github.com/golang-migrate/migrate/v4/database"
	"github.com/golang-migrate/migrate/v4/database/mysql"
	"github.com/golang-migrate/migrate/v4/database/pgx/v5"
	"github.com/golang-migrate/migrate/v4/database/sqlite"
	"github.com/golang-migrate/migrate/v4/source/iofs"

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
// the INSERT of products would be refused while the engine makes the keys of that column;
// golang-migrate then calls the database dirty, and goes on only after its Force.
func Migrate(_ context.Context, at shop.Database, driver string) (err error) {
	db, err := sql.Open(driver, at.DSN)
	if err != nil {
		return err
	}
	files := fstest.MapFS{} // an application would embed a folder of such files
	for i, step := range shop.Migrations(at.Engine) {
		files[fmt.Sprintf("%d_step.up.sql", i+1)] = &fstest.MapFile{Data: []byte(step)}
	}
	source, err := iofs.New(files, ".")
	if err != nil {
		return errors.Join(err, db.Close())
	}
	target, err := instance(at.Engine, db)
	if err != nil {
		return errors.Join(err, db.Close())
	}
	m, err := migrate.NewWithInstance("steps", source, at.Engine, target)
	if err != nil {
		return errors.Join(err, target.Close())
	}
	defer func() {
		sourceErr, targetErr := m.Close() // m.Close also closes db
		err = errors.Join(err, sourceErr, targetErr)
	}()
	return m.Up()
}

func instance(engine string, db *sql.DB) (database.Driver, error) {
	switch engine {
	case "mysql":
		return mysql.WithInstance(db, &mysql.Config{})
	case "postgres":
		return pgx.WithInstance(db, &pgx.Config{})
	}
	return sqlite.WithInstance(db, &sqlite.Config{})
}
