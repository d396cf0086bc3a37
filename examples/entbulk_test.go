package main

import (
	"context"
	"database/sql"
	"maps"
	"slices"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"

	"github.com/keyfill/keyfill/examples/ent/testdata/shopent"
	"github.com/keyfill/keyfill/examples/internal/shop"
)

// TestEntBulk: without the hook ent learns the UUID of one entity from RETURNING, and the
// UUIDs of CreateBulk on no engine, although they are stored.
func TestEntBulk(t *testing.T) {
	for _, engine := range slices.Sorted(maps.Keys(servers)) {
		t.Run(engine, func(t *testing.T) {
			ctx, at := context.Background(), empty(t, engine)
			if err := shop.Create(ctx, at); err != nil {
				t.Fatal(err)
			}
			db, err := sql.Open(at.Driver(), at.DSN)
			if err != nil {
				t.Fatal(err)
			}
			name := map[string]string{"mysql": dialect.MySQL, "postgres": dialect.Postgres, "sqlite": dialect.SQLite}[engine]
			client := shopent.NewClient(shopent.Driver(entsql.OpenDB(name, db)))
			defer client.Close()
			cyd, err := client.Customer.Create().SetName("Cyd").Save(ctx)
			if engine != "mysql" && (err != nil || cyd.ID.Version() != 7) {
				t.Errorf("one entity has the key %v, error %v", cyd.ID, err)
			}
			all, err := client.Customer.CreateBulk(client.Customer.Create().SetName("Ada"), client.Customer.Create().SetName("Bob")).Save(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range all {
				if c.ID != uuid.Nil {
					t.Errorf("CreateBulk: %s has the key %v: docs/frameworks.md says that it needs the hook", c.Name, c.ID)
				}
			}
			if n := client.Customer.Query().CountX(ctx); n < 2 {
				t.Errorf("%d are stored", n)
			}
		})
	}
}
