package main

import (
	"fmt"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/policy"
)

// backfillFlags are the flags of keyfill backfill.
type backfillFlags struct {
	database databaseFlags
	config   string
	backfillOptions
	dryRun bool
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
	addDatabase(cmd, &f.database)
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
	db, d, err := f.database.open(cmd.Context())
	if err != nil {
		return err
	}
	defer db.Close()
	b, err := findBackfill(cmd.Context(), db, d, &f.backfillOptions)
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
	dsn, _, err := f.database.dataSource()
	if err != nil {
		return err
	}
	keyed, err := keyfill.OpenDB(newPlainConnector(db.Driver(), dsn), keyfill.Options{
		Policy: cfg, Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer keyed.Close()
	mount, err := keyfill.From(keyed)
	if err != nil {
		return err
	}
	filled, left, err := b.run(cmd.Context(), mount, total, newProgress(cmd.ErrOrStderr(), total))
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d rows of %s have got keys in %s, %d have none\n", filled, f.table, b.column.Name, left)
	return nil
}
