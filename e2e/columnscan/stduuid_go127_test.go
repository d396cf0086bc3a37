//go:build go1.27

package columnscan_test

import (
	"context"
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"uuid"

	"gorm.io/driver/postgres"
	"gorm.io/gorm"
	_ "modernc.org/sqlite"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillgorm"
	"github.com/keyfill/keyfill/policy"
)

// TestStandardUUID: the UUID of the standard library is filled where it is zero, kept where
// the program has set it, and read back by Last, Record, RETURNING and a query.
func TestStandardUUID(t *testing.T) {
	for _, e := range []struct {
		driver, dsn, column string
	}{
		{"sqlite", filepath.Join(t.TempDir(), "uuids.db"), "TEXT"},
		{"pgx", postgresql.DSN(postgresql.Database(t, "pgx")), "uuid"},
	} {
		t.Run(e.driver, func(t *testing.T) {
			db := openUUIDs(t, e.driver, e.dsn, e.column)
			place := func(query string) string {
				if e.driver == "pgx" {
					return query
				}
				return strings.NewReplacer("$1", "?", "$2", "?").Replace(query)
			}
			insert := place("INSERT INTO ids (id, note) VALUES ($1, $2)")
			own := uuid.MustParse("0197b3c4-5d6e-7f80-9a1b-2c3d4e5f6071")

			ctx, rec := keyfill.Record(context.Background())
			if _, err := db.ExecContext(ctx, insert, uuid.Nil(), "filled"); err != nil {
				t.Fatal(err)
			}
			filled, ok := keyfill.Last[uuid.UUID](rec, "ids")
			if keys := rec.Keys("ids"); !ok || len(keys) != 1 || keys[0].Key.(fmt.Stringer).String() != filled.String() || keys[0].Outcome != keyfill.Stored {
				t.Errorf("the last key is %v, %t, and recorded are %v", filled, ok, keys)
			}
			if _, err := db.ExecContext(ctx, insert, own, "own"); err != nil {
				t.Fatal(err)
			}
			var returned uuid.UUID
			if err := db.QueryRowContext(ctx, place("INSERT INTO ids (note) VALUES ($1) RETURNING id"), "returned").Scan(&returned); err != nil {
				t.Fatal(err)
			}
			for note, want := range map[string]uuid.UUID{"filled": filled, "own": own, "returned": returned} {
				var id uuid.UUID
				var kind string
				err := db.QueryRowContext(ctx, place("SELECT id, note FROM ids WHERE id = $1"), want).Scan(&id, &kind)
				if err != nil || id != want || kind != note {
					t.Errorf("%s: %v has the row %v %q, error %v", note, want, id, kind, err)
				}
			}
		})
	}
}

// TestStandardUUIDGORM: GORM on PostgreSQL sets the ids of a model, and finds its rows by
// them. The tests of keyfillgorm run SQLite.
func TestStandardUUIDGORM(t *testing.T) {
	type id struct {
		ID   uuid.UUID `gorm:"type:uuid;primaryKey"`
		Note string
	}
	db := openUUIDs(t, "pgx", postgresql.DSN(postgresql.Database(t, "pgx")), "uuid")
	g, err := gorm.Open(postgres.New(postgres.Config{Conn: db}))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Use(keyfillgorm.Plugin{}); err != nil {
		t.Fatal(err)
	}
	own := uuid.MustParse("0197b3c4-5d6e-7f80-9a1b-2c3d4e5f6071")
	created := []id{{Note: "a"}, {ID: own, Note: "b"}, {Note: "c"}}
	if err := g.Create(&created).Error; err != nil {
		t.Fatal(err)
	}
	for i, c := range created {
		var found id
		if err := g.First(&found, "id = ?", c.ID).Error; err != nil || found != c || (c.ID == own) != (i == 1) || c.ID == uuid.Nil() {
			t.Errorf("%v is found as %v, error %v", c, found, err)
		}
	}
}

// openUUIDs opens a database with the table ids, whose keys are filled.
func openUUIDs(t *testing.T, driver, dsn, column string) *sql.DB {
	t.Helper()
	name := driver + "-" + strings.ReplaceAll(t.Name(), "/", "-")
	_, err := keyfill.RegisterByName(name, driver, keyfill.Options{Policy: &policy.Config{Tables: map[string]policy.Table{"ids": {Column: "id"}}}})
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(name, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	if _, err := db.Exec("CREATE TABLE ids (id " + column + " PRIMARY KEY, note VARCHAR(20))"); err != nil {
		t.Fatal(err)
	}
	return db
}
