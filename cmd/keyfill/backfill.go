package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/policy"
)

// backfillFlags are the flags of keyfill backfill.
type backfillFlags struct {
	databaseFlags
	config, table, column string
	batch, rate           int
	dryRun                bool
}

// maxBatch is how many rows one transaction changes at most.
const maxBatch = 10_000

func newBackfill() *cobra.Command {
	var f backfillFlags
	cmd := &cobra.Command{
		Use:   "backfill --config FILE --driver DRIVER --dsn DSN --table TABLE",
		Short: "Give keys to the rows of a table that have none",
		Long: `Gives a key to each row whose key column is NULL, from the source that the policy
names, in batches of one transaction each. Programs may insert meanwhile. After a
kill run it again. Let a unique index be on the column first.
docs/command.md#keyfill-backfill tells more.`,
		Example: `  keyfill backfill --config keyfill.yaml --driver sqlite --dsn shop.db \
    --table customers --dry-run`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.add(cmd)
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "the policy")
	flags.StringVar(&f.table, "table", "", "the table, as the policy names it")
	flags.StringVar(&f.column, "column", "", "the key column, where it is not the first")
	flags.IntVar(&f.batch, "batch", 1000, "how many rows a transaction changes")
	flags.IntVar(&f.rate, "rate", 0, "rows that are changed in a second, at most; 0: no limit")
	flags.BoolVar(&f.dryRun, "dry-run", false, "count the rows and change nothing")
	return cmd
}

func (f *backfillFlags) run(cmd *cobra.Command) error {
	switch {
	case f.config == "", f.table == "":
		return usagef("say --config and --table")
	case f.batch < 1 || f.batch > maxBatch:
		return usagef("--batch %d: give a number from 1 to %d", f.batch, maxBatch)
	case f.rate < 0:
		return usagef("--rate %d: give a number of at least 1, or leave it out", f.rate)
	}
	cfg, err := policy.Load(f.config)
	if err != nil {
		return err
	}
	if err := firstColumn(cfg, f.table, &f.column); err != nil {
		return err
	}
	db, d, err := f.open(cmd.Context())
	if err != nil {
		return err
	}
	defer db.Close()
	b, err := f.find(cmd.Context(), db, d)
	if err != nil {
		return err
	}
	total, err := b.missing(cmd.Context())
	if err != nil {
		return err
	}
	if f.dryRun || total == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%d rows of %s have no key in %s\n", total, f.table, b.column.Name)
		return nil
	}
	dsn, _, err := f.dataSource()
	if err != nil {
		return err
	}
	keyed, err := keyfill.OpenDB(plainConnector{db.Driver(), dsn}, keyfill.Options{
		Policy: cfg, Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer keyed.Close()
	if b.mount, err = keyfill.From(keyed); err != nil {
		return err
	}
	b.progress = newProgress(cmd.ErrOrStderr(), total)
	filled, err := b.fill(cmd.Context())
	b.progress.end()
	if err != nil {
		return fmt.Errorf("%d rows have got keys, run the command again for the others: %w", filled, err)
	}
	left, err := b.missing(cmd.Context())
	switch {
	case err != nil:
		return err
	case filled == 0 && left >= total: // others have given no keys meanwhile
		return errNotTaken
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d rows of %s have got keys in %s, %d have none\n", filled, f.table, b.column.Name, left)
	return nil
}

// firstColumn makes a column the first key of a table in the policy, or returns the one
// that is.
func firstColumn(cfg *policy.Config, table string, column *string) error {
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

// find reads the table, and chooses how its rows are found.
func (f *backfillFlags) find(ctx context.Context, db *sql.DB, d *dialect.Dialect) (*backfill, error) {
	found, err := readCatalog(ctx, db, d, f.table)
	if err != nil {
		return nil, err
	}
	b := &backfill{flags: f, db: db, dialect: d, name: f.table, found: found}
	if b.column, err = columnOf(d, found, f.column, ", or add it first"); err != nil {
		return nil, err
	}
	b.table, b.key = d.QuoteIdent(found.Schema)+"."+d.QuoteIdent(found.Name), d.QuoteIdent(b.column.Name)
	return b, b.locate(ctx)
}

// locate chooses how rows are found. A column of SQLite holds values of any type,
// whatever it was declared as, so that the rowid comes before all others there.
func (b *backfill) locate(ctx context.Context) error {
	if b.dialect.Family == dialect.FamilySQLite {
		if b.locator = b.rowID(ctx); b.locator != "" {
			return nil
		}
	}
	for i := range b.found.Columns {
		c := &b.found.Columns[i]
		if !c.UniqueAlone || !c.LeadsIndex || c.Name == b.column.Name || !c.Integer && !c.Text {
			continue
		}
		column := b.dialect.QuoteIdent(c.Name)
		var nulls int
		err := b.db.QueryRowContext(ctx, "SELECT COUNT(*) FROM "+b.table+" WHERE "+b.key+" IS NULL AND "+column+" IS NULL").Scan(&nulls)
		if err != nil {
			return err
		}
		if nulls == 0 { // else these rows would not be found by it
			b.by, b.locator = c, column
			return nil
		}
	}
	switch b.dialect.Family {
	case dialect.FamilyPostgreSQL:
		b.locator = ctid
	case dialect.FamilyMySQL:
	default:
		return fmt.Errorf("no other column of %s has a unique index by itself and a value in each row, by which its rows are found: create one", b.name)
	}
	return nil
}

// rowID returns the name by which the rowid of SQLite is found: one that no column of the
// table has. A table WITHOUT ROWID has none.
func (b *backfill) rowID(ctx context.Context) string {
	for _, name := range []string{"rowid", "_rowid_", "oid"} {
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

// pace waits until the rate allows the next batch.
func (f *backfillFlags) pace(ctx context.Context, rows int, began time.Time) error {
	if f.rate == 0 {
		return ctx.Err()
	}
	wait := time.Duration(rows)*time.Second/time.Duration(f.rate) - time.Since(began)
	timer := time.NewTimer(max(wait, 0))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
