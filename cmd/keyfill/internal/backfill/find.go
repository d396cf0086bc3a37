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

// FirstColumn moves the key column *column of a table to the first place in the policy. If
// *column is empty, FirstColumn sets it to the name of the key that is first already.
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
	source := t.Keys[i].InPlace
	if named, ok := cfg.Sources[t.Keys[i].Source]; ok {
		source = &named
	}
	if source != nil && source.Kind == policy.KindUUIDv5 {
		return fmt.Errorf("the keys of %s are made from other columns of the row, which a backfill does not read: compute each with keysource.UUIDv5, and set it by an UPDATE", *column)
	}
	// The other keys and tables stay in the policy, since a counter that they share with
	// this key has to start above their keys too.
	key := t.Keys[i]
	cfg.Tables = maps.Clone(cfg.Tables)
	cfg.Tables[table] = policy.Table{Keys: append([]policy.Key{key}, slices.Delete(slices.Clone(t.Keys), i, i+1)...)}
	return nil
}

// Find reads the table from the catalog, and chooses the column that identifies its rows.
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

// engine holds how an engine identifies the rows of a table that has no unique column.
type engine struct {
	rowIDs   []string // names of the integer that SQLite gives each row; a column of the same name hides it
	physical string   // the built-in column that holds where a row is stored
	limits   bool     // whether UPDATE has LIMIT, so that rows can be changed one at a time without being identified
}

// engines holds the engines by family. An engine without an entry identifies rows by unique
// columns alone.
var engines = map[dialect.Family]engine{
	dialect.FamilyMySQL:      {limits: true},
	dialect.FamilyPostgreSQL: {physical: ctid},
	dialect.FamilySQLite:     {rowIDs: []string{"rowid", "_rowid_", "oid"}},
}

// locate sets b.locator, the column that identifies rows. On SQLite it prefers the rowid,
// since any other column may hold values of any type, whatever its declaration says.
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
		if nulls == 0 { // if the column holds NULL in some rows, it does not identify these rows
			b.by, b.locator, b.numbers = c, column, c.Integer
			return nil
		}
	}
	if b.locator = e.physical; b.locator == "" && !e.limits {
		return fmt.Errorf("no column of %s distinguishes its rows: create a column with a unique index of its own and a value in each row", b.name)
	}
	return nil
}

// rowID returns a name of SQLite's rowid that is not the name of a column of the table. It
// is empty for a table WITHOUT ROWID.
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
