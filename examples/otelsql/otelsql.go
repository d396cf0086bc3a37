// Package otelsql stores the shop with otelsql around keyfill, where it sees the SQL
// of the program, and inside of keyfill, where it sees the filled SQL.
package otelsql

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/XSAM/otelsql"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/internal/shop"
	"github.com/keyfill/keyfill/examples/stdlib"
	"github.com/keyfill/keyfill/policy"
)

// Around stores the shop with otelsql around keyfill. The mount (keyfill's handle on the
// database) is in keyfill.Mounts: keyfill.From cannot find it through otelsql.
func Around(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	db, err := otelsql.Open(at.Driver(), at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	mount := keyfill.Mounts()[at.Driver()]
	before := mount.Stats().Tables["orders"].Keys
	rows, err := stdlib.Store(ctx, at, db)
	if filled := mount.Stats().Tables["orders"].Keys - before; err == nil && filled != 4 {
		return nil, fmt.Errorf("the mount counts %d keys of orders, want 4", filled)
	}
	return rows, err
}

// Inside stores the shop with otelsql inside of keyfill. keyfill does not recognize the
// engine by otelsql's driver, so the policy names the dialect.
func Inside(ctx context.Context, at shop.Database) ([]shop.Row, error) {
	name := at.Raw() + "-otelsql-keyfill"
	if !slices.Contains(sql.Drivers(), name) {
		traced, err := otelsql.Register(at.Raw())
		if err != nil {
			return nil, err
		}
		cfg, err := policy.FromEnvironment()
		if err != nil {
			return nil, err
		}
		cfg.Dialect = map[string]string{"mysql": "mariadb"}[at.Engine]
		if cfg.Dialect == "" {
			cfg.Dialect = at.Engine
		}
		if _, err := keyfill.RegisterByName(name, traced, keyfill.Options{Policy: cfg}); err != nil {
			return nil, err
		}
	}
	db, err := sql.Open(name, at.DSN)
	if err != nil {
		return nil, err
	}
	defer db.Close()
	return stdlib.Store(ctx, at, db)
}
