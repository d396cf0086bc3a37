package backfill

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/policy"
)

// FirstColumn makes *column the first key of a table in the policy. If *column is empty, it
// sets it to the name of the present first key.
func FirstColumn(cfg *policy.Config, table string, column *string) error {
	t, found := cfg.Tables[table]
	if !found {
		return fmt.Errorf("the policy has no table %s: name it in --table as the policy does%s", table, nearest.DidYouMean(table, slices.Sorted(maps.Keys(cfg.Tables))))
	}
	if t.Column != "" {
		t.Keys = slices.Insert(slices.Clone(t.Keys), 0, policy.Key{
			Column: t.Column, Source: t.Source, InPlace: t.InPlace, Layout: t.Layout, MaxBits: t.MaxBits, LastInsertID: t.LastInsertID,
		})
	}
	if len(t.Keys) == 0 {
		return fmt.Errorf("the policy has no key column for %s: add one", table)
	}
	*column = cmp.Or(*column, t.Keys[0].Column)
	i := slices.IndexFunc(t.Keys, func(k policy.Key) bool { return k.Column == *column })
	if i < 0 {
		var names []string
		for _, k := range t.Keys {
			names = append(names, k.Column)
		}
		return fmt.Errorf("the policy has no key column %s of %s: name it in --column as the policy does%s", *column, table, nearest.DidYouMean(*column, names))
	}
	// The other keys and tables stay: a state that they share begins above their keys too.
	key := t.Keys[i]
	cfg.Tables = maps.Clone(cfg.Tables)
	cfg.Tables[table] = policy.Table{Keys: append([]policy.Key{key}, slices.Delete(slices.Clone(t.Keys), i, i+1)...)}
	return nil
}

// Find reads the table from the catalog, and chooses how its rows are found.
func Find(ctx context.Context, db *sql.DB, d *dialect.Dialect, o *Options) (*Table, error) {
	found, err := database.ReadTable(ctx, db, d, o.Table)
	if err != nil {
		return nil, err
	}
	b := &Table{options: o, db: db, dialect: d, name: o.Table, found: found}
	if b.Column, err = database.ColumnOf(d, found, o.Column, ", or add it first"); err != nil {
		return nil, err
	}
	b.table, b.key = d.QuoteIdent(found.Schema)+"."+d.QuoteIdent(found.Name), d.QuoteIdent(b.Column.Name)
	return b, b.locate(ctx)
}

// engine says how to distinguish rows that no column distinguishes.
type engine struct {
	rowIDs   []string // names of an integer that each row has, unless the table is made without; columns hide them
	physical string   // where a row stands
	limits   bool     // an UPDATE may be limited to a number of rows, which need not be distinguished
}

// engines are by family. The others distinguish rows by columns alone.
var engines = map[dialect.Family]engine{
	dialect.FamilyMySQL:      {limits: true},
	dialect.FamilyPostgreSQL: {physical: ctid},
	dialect.FamilySQLite:     {rowIDs: []string{"rowid", "_rowid_", "oid"}},
}

// locate chooses locator. On SQLite it prefers the rowid, since a column there holds values
// of any type, whatever its declaration says.
func (b *Table) locate(ctx context.Context) error {
	e := engines[b.dialect.Family]
	if b.locator = b.rowID(ctx, e.rowIDs); b.locator != "" {
		b.numbers = true
		return nil
	}
	for i := range b.found.Columns {
		c := &b.found.Columns[i]
		if !c.Indexes.UniqueAlone || !c.Indexes.LeadsIndex || c.Name == b.Column.Name || !c.Integer && !c.Text {
			continue
		}
		column := b.dialect.QuoteIdent(c.Name)
		var nulls int
		err := b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+b.table+" WHERE "+b.key+" IS NULL AND "+column+" IS NULL").Scan(&nulls)
		if err != nil {
			return err
		}
		if nulls == 0 { // else these rows would not be found by it
			b.by, b.locator, b.numbers = c, column, c.Integer
			return nil
		}
	}
	if b.locator = e.physical; b.locator == "" && !e.limits {
		return fmt.Errorf("no column of %s tells its rows apart: create a column with a unique index of its own and a value in each row", b.name)
	}
	return nil
}

// rowID returns that one of the names of SQLite's rowid that no column of the table has. It is
// empty for a table WITHOUT ROWID.
func (b *Table) rowID(ctx context.Context, names []string) string {
	for _, name := range names {
		if slices.ContainsFunc(b.found.Columns, func(c catalog.Column) bool { return strings.EqualFold(c.Name, name) }) {
			continue
		}
		var none any
		err := b.db.QueryRowContext(ctx, "SELECT "+name+" FROM "+b.table+" LIMIT 0").Scan(&none)
		if !errors.Is(err, sql.ErrNoRows) {
			return ""
		}
		return name
	}
	return ""
}
