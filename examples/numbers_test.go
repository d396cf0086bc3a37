package main

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/google/uuid"
	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/mysqldialect"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"
	"xorm.io/xorm"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/examples/ent/testdata/shopent"
	"github.com/keyfill/keyfill/examples/internal/shop"
	xormshop "github.com/keyfill/keyfill/examples/xorm"
)

// invoicePolicy has a text and an integer beside the key.
const invoicePolicy = `version: 1
ensure_schema: true
tables:
  invoices:
    column: id
    keys:
      - {column: number, source: {kind: sequence, transaction: joined, format: "INV-{n:05}"}}
      - {column: place, source: {kind: sequence, start: 1}}
`

type bunInvoice struct {
	bun.BaseModel `bun:"table:invoices"`

	ID     uuid.UUID `bun:"id,pk"`
	Number string    `bun:"number,nullzero,skipupdate"`
	Place  int64     `bun:"place,nullzero,skipupdate"`
	Note   string    `bun:"note"`
}

type bunUntagged struct {
	bun.BaseModel `bun:"table:invoices"`

	ID     uuid.UUID `bun:"id,pk"`
	Number string    `bun:"number"`
	Place  int64     `bun:"place"`
	Note   string    `bun:"note"`
}

type xormInvoice struct {
	ID     string `xorm:"'id' pk"`
	Number string `xorm:"'number' <-"`
	Place  int64  `xorm:"'place' <-"`
	Note   string `xorm:"'note'"`
}

func (xormInvoice) TableName() string { return "invoices" }

type xormUntagged struct {
	ID     string `xorm:"'id' pk"`
	Number string `xorm:"'number'"`
	Place  int64  `xorm:"'place'"`
	Note   string `xorm:"'note'"`
}

func (xormUntagged) TableName() string { return "invoices" }

// bunStore stores an invoice through bun, and updates the whole struct.
func bunStore(ctx context.Context, at shop.Database, invoice any, note *string) error {
	db, err := sql.Open(at.Driver(), at.DSN)
	if err != nil {
		return err
	}
	names := map[string]schema.Dialect{"mysql": mysqldialect.New(), "postgres": pgdialect.New(), "sqlite": sqlitedialect.New()}
	b := bun.NewDB(db, names[at.Engine])
	defer b.Close()
	if _, err := b.NewInsert().Model(invoice).Exec(ctx); err != nil {
		return err
	}
	*note = "paid"
	_, err = b.NewUpdate().Model(invoice).WherePK().Exec(ctx)
	return err
}

// xormStore stores an invoice through xorm, and updates all columns.
func xormStore(ctx context.Context, at shop.Database, id string, invoice any, note *string) error {
	xormshop.Register(at)
	engine, err := xorm.NewEngine(at.Driver(), at.DSN)
	if err != nil {
		return err
	}
	defer engine.Close()
	if _, err := engine.Context(ctx).Insert(invoice); err != nil {
		return err
	}
	*note = "paid"
	_, err = engine.Context(ctx).ID(id).AllCols().Update(invoice)
	return err
}

// numberPrograms store an invoice, and then the whole struct, by the rules of the pages in
// docs/frameworks, and without them. They return what the struct holds after the INSERT.
var numberPrograms = []struct {
	name  string
	want  string // the stored numbers
	store func(ctx context.Context, at shop.Database) (held string, err error)
}{
	{"bun", "INV-00001 1", func(ctx context.Context, at shop.Database) (string, error) {
		v := bunInvoice{ID: uuid.New()}
		err := bunStore(ctx, at, &v, &v.Note)
		return fmt.Sprint(v.Number, " ", v.Place), err
	}},
	{"bun, without tags", " 0", func(ctx context.Context, at shop.Database) (string, error) {
		v := bunUntagged{ID: uuid.New()}
		return "", bunStore(ctx, at, &v, &v.Note)
	}},
	{"xorm", "INV-00001 1", func(ctx context.Context, at shop.Database) (string, error) {
		ctx, rec := keyfill.Record(ctx)
		v := xormInvoice{ID: uuid.NewString()}
		err := xormStore(ctx, at, v.ID, &v, &v.Note)
		held := ""
		for _, k := range rec.Keys("invoices") {
			held += fmt.Sprint(k.Key, " ")
		}
		return held[:max(0, len(held)-1)], err
	}},
	{"xorm, without tags", " 0", func(ctx context.Context, at shop.Database) (string, error) {
		v := xormUntagged{ID: uuid.NewString()}
		return "", xormStore(ctx, at, v.ID, &v, &v.Note)
	}},
	{"ent", "INV-00001 1", func(ctx context.Context, at shop.Database) (string, error) {
		db, err := sql.Open(at.Driver(), at.DSN)
		if err != nil {
			return "", err
		}
		names := map[string]string{"mysql": dialect.MySQL, "postgres": dialect.Postgres, "sqlite": dialect.SQLite}
		client := shopent.NewClient(shopent.Driver(entsql.OpenDB(names[at.Engine], db)))
		defer client.Close()
		v, err := client.Invoice.Create().SetNote("new").Save(ctx)
		if err != nil {
			return "", err
		}
		if v.Number != "" {
			return "", fmt.Errorf("Create gives the number %q: docs/frameworks/ent.md says that it gives none", v.Number)
		}
		v, err = v.Update().SetNote("paid").Save(ctx)
		if err != nil {
			return "", err
		}
		return fmt.Sprint(v.Number, " ", v.Place), nil
	}},
}

// TestNumbers: an update of a whole struct keeps the numbers beside the key, by the rule of
// each library, and erases them without the rule.
func TestNumbers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "keyfill.yaml")
	if err := os.WriteFile(file, []byte(invoicePolicy), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, engine := range slices.Sorted(maps.Keys(servers)) {
		for _, p := range numberPrograms {
			t.Run(p.name+"/"+engine, func(t *testing.T) {
				at := empty(t, engine)
				t.Setenv("KEYFILL_CONFIG", file)
				raw, err := sql.Open(at.Raw(), at.DSN)
				if err != nil {
					t.Fatal(err)
				}
				defer raw.Close()
				id := map[string]string{"postgres": "UUID"}[engine]
				if id == "" {
					id = "CHAR(36)"
				}
				if _, err := raw.Exec("CREATE TABLE invoices (id " + id + " PRIMARY KEY, number VARCHAR(16) NOT NULL UNIQUE, place BIGINT NOT NULL UNIQUE, note VARCHAR(20))"); err != nil {
					t.Fatal(err)
				}
				held, err := p.store(context.Background(), at)
				if err != nil {
					t.Fatal(err)
				}
				var number, note string
				var place int64
				if err := raw.QueryRow("SELECT number, place, note FROM invoices").Scan(&number, &place, &note); err != nil {
					t.Fatal(err)
				}
				if stored := fmt.Sprint(number, " ", place); stored != p.want || note != "paid" {
					t.Errorf("stored is %q with the note %q, want %q", stored, note, p.want)
				}
				if held != "" && held != p.want {
					t.Errorf("the program learns %q, want %q", held, p.want)
				}
			})
		}
	}
}
