package main

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/backfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/policy"
)

// backfillFlags are the flags of keyfill backfill.
type backfillFlags struct {
	database database.Address
	config   string
	backfill.Options
	dryRun bool
	now    func() time.Time // the clock of the progress
}

// maxBatch is how many rows one transaction changes at most.
const maxBatch = 10_000

func newBackfill() *cobra.Command {
	return newBackfillBy(time.Now)
}

// newBackfillBy returns the command with a clock for its progress.
func newBackfillBy(now func() time.Time) *cobra.Command {
	f := backfillFlags{now: now}
	cmd := &cobra.Command{
		Use:   "backfill --config FILE --driver DRIVER --dsn DSN --table TABLE",
		Short: "Give keys to the rows of a table that have none",
		Long: `Gives a key to each row whose key column is NULL, from the source that the policy
names, in batches of one transaction each. Programs may insert meanwhile. After a
kill run it again. Let a unique index be on the column first.
See docs/command.md#keyfill-backfill.`,
		Example: `  keyfill backfill --config keyfill.yaml --driver sqlite --dsn shop.db \
    --table customers --dry-run`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	addDatabase(cmd, &f.database)
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "the policy")
	flags.StringVar(&f.Table, "table", "", "the table, as the policy names it")
	flags.StringVar(&f.Column, "column", "", "the key column, where it is not the first")
	flags.IntVar(&f.Batch, "batch", 1000, "how many rows a transaction changes")
	flags.IntVar(&f.Rate, "rate", 0, "rows that are changed in a second, at most; 0: no limit")
	flags.BoolVar(&f.dryRun, "dry-run", false, "count the rows and change nothing")
	return cmd
}

func (f *backfillFlags) run(cmd *cobra.Command) error {
	switch {
	case f.config == "", f.Table == "":
		return usage.Errorf("say --config and --table")
	case f.Batch < 1 || f.Batch > maxBatch:
		return usage.Errorf("--batch %d: give a number from 1 to %d", f.Batch, maxBatch)
	case f.Rate < 0:
		return usage.Errorf("--rate %d: give a number of at least 1, or leave it out", f.Rate)
	}
	cfg, err := policy.Load(f.config)
	if err != nil {
		return err
	}
	if err := backfill.FirstColumn(cfg, f.Table, &f.Column); err != nil {
		return err
	}
	db, d, err := f.database.Open(cmd.Context())
	if err != nil {
		return err
	}
	defer db.Close()
	b, err := backfill.Find(cmd.Context(), db, d, &f.Options)
	if err != nil {
		return err
	}
	total, err := b.Missing(cmd.Context())
	if err != nil {
		return err
	}
	if f.dryRun || total == 0 {
		fmt.Fprintf(cmd.OutOrStdout(), "%d rows of %s have no key in %s\n", total, f.Table, b.Column.Name)
		return nil
	}
	dsn, _, err := f.database.DataSource()
	if err != nil {
		return err
	}
	keyed, err := keyfill.OpenDB(database.NewConnector(db.Driver(), dsn), keyfill.Options{
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
	filled, left, err := b.Run(cmd.Context(), mount, total, terminal.NewRows(cmd.ErrOrStderr(), total, f.now))
	if err != nil {
		return err
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d rows of %s have got keys in %s, %d have none\n", filled, f.Table, b.Column.Name, left)
	return nil
}
