package main

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/examples/goose"
	"github.com/keyfill/keyfill/examples/internal/shop"
	"github.com/keyfill/keyfill/examples/migrate"
	"github.com/keyfill/keyfill/internal/testdb"
)

// The servers start once for all programs.
var servers = map[string]*testdb.Server{
	"mysql":    testdb.New(testdb.MariaDB()),
	"postgres": testdb.New(testdb.PostgreSQL()),
	"sqlite":   nil,
}

func TestMain(m *testing.M) { testdb.Main(m, servers["mysql"], servers["postgres"]) }

// empty returns an empty database of an engine.
func empty(t *testing.T, engine string) shop.Database {
	t.Helper()
	t.Setenv("KEYFILL_CONFIG", "keyfill.yaml")
	at := shop.Database{Engine: engine}
	if s := servers[engine]; s != nil {
		at.DSN = s.DSN(s.Database(t, at.Raw()))
		return at
	}
	at.DSN = "file:" + filepath.Join(t.TempDir(), "shop.db") + "?_pragma=busy_timeout(60000)&_pragma=synchronous(OFF)"
	return at
}

// TestPrograms runs every program on every engine. What its structs hold is what is
// stored, and the keys are keyfill's.
func TestPrograms(t *testing.T) {
	for _, p := range programs {
		for _, engine := range slices.Sorted(maps.Keys(servers)) {
			if p.only != "" && p.only != engine {
				continue
			}
			t.Run(p.name+"/"+engine, func(t *testing.T) {
				ctx, at := context.Background(), empty(t, engine)
				held, err := store(ctx, p, at)
				if err != nil {
					t.Fatal(err)
				}
				stored, err := shop.Stored(ctx, at)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(held, stored) {
					t.Errorf("the structs hold\n%v\nand stored is\n%v", held, stored)
				}
				check(t, stored, p.migrates)
			})
		}
	}
}

// check compares the rows with those that every program stores.
func check(t *testing.T, stored []shop.Row, migrated bool) {
	t.Helper()
	names, customers := map[string][]string{}, map[string]string{}
	for _, r := range stored {
		names[r.Table] = append(names[r.Table], r.Name)
		switch r.Table {
		case "customers":
			customers[r.Key] = r.Name
			if id, err := uuid.Parse(r.Key); err != nil || id.Version() != 7 {
				t.Errorf("%s has the key %s, want a UUID of version 7", r.Name, r.Key)
			}
			continue
		case "orders":
			if customers[r.Parent] != r.Name[:3] {
				t.Errorf("%s is an order of %s", r.Name, customers[r.Parent])
			}
		}
		// The pen of a migration has the engine's key; all others are keyfill's.
		start := map[string]int{"orders": 1001, "products": 5001}[r.Table]
		id, err := strconv.Atoi(r.Key)
		if err != nil || id < start && !(migrated && r.Name == "pen" && id == 1) {
			t.Errorf("%s %s has the key %s, want an integer from %d", r.Table, r.Name, r.Key, start)
		}
	}
	if !maps.EqualFunc(names, shop.Names, slices.Equal) {
		t.Errorf("stored is %v, want %v", names, shop.Names)
	}
}

// TestMigrationsThroughKeyfill: an INSERT of a migration into a column whose keys the
// engine still makes is refused, and nothing is stored twice or by halves. SQLite's
// INTEGER PRIMARY KEY takes keys from both, so that the INSERT is filled.
func TestMigrationsThroughKeyfill(t *testing.T) {
	for name, run := range map[string]func(context.Context, shop.Database, string) error{"goose": goose.Migrate, "migrate": migrate.Migrate} {
		for _, engine := range slices.Sorted(maps.Keys(servers)) {
			t.Run(name+"/"+engine, func(t *testing.T) {
				ctx, at := context.Background(), empty(t, engine)
				err := run(ctx, at, at.Driver())
				stored, readErr := shop.Stored(ctx, at)
				if readErr != nil {
					t.Fatal(readErr)
				}
				switch {
				case engine == "sqlite" && (err != nil || len(stored) != 1 || stored[0].Key != "5001"):
					t.Errorf("stored is %v, error %v", stored, err)
				case engine != "sqlite" && (err == nil || !strings.Contains(err.Error(), `keyfill: table "products"`) || len(stored) != 0):
					t.Errorf("stored is %v, error %v", stored, err)
				}
			})
		}
	}
}
