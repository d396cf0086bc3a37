package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/audit"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
)

// auditFlags are the flags of keyfill audit.
type auditFlags struct {
	audit.Options
	database      database.Address
	config        string
	asJSON, asCSV bool
}

func newAudit() *cobra.Command {
	var f auditFlags
	cmd := &cobra.Command{
		Use:   "audit --driver DRIVER --dsn DSN --table TABLE",
		Short: "Show which numbers of a sequence are missing, or stored twice",
		Long: `Compares the numbers of a column with those that its sequence has given. With
transaction: joined or scope: each number has to be there. It changes nothing.
Programs may insert meanwhile, on SQLite only in WAL mode: docs/audit.md.`,
		Example:     "  keyfill audit --driver sqlite --dsn shop.db --table orders",
		Annotations: map[string]string{exitKey: "Exit code: 0 every number is explained, 1 one is not, 2 nothing was compared."},
		Args:        arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			errors, err := f.run(cmd)
			switch {
			case err != nil:
				return &codeError{exitUsage, err}
			case errors > 0:
				return &codeError{exitError, errUnexplained}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "the policy `file` ($KEYFILL_CONFIG, else ./keyfill.yaml)")
	addDatabase(cmd, &f.database)
	flags.StringVar(&f.Table, "table", "", "the table, as the policy names it")
	flags.StringVar(&f.Column, "column", "", "the column, where the first sequence of the table is not meant")
	flags.StringVar(&f.Cancelled, "cancelled", "", "`TABLE.COLUMN` with numbers that were cancelled, and need no row")
	flags.StringToStringVar(&f.Values, "value", nil, "a `NAME=VALUE` in the name of the state, where texts show it")
	flags.Lookup("value").DefValue = "" // the help would show empty brackets
	flags.BoolVar(&f.asJSON, "json", false, "print JSON, one finding a line")
	flags.BoolVar(&f.asCSV, "csv", false, "print CSV")
	return cmd
}

// errUnexplained is returned after the findings were printed, if one of them is an error.
var errUnexplained = errors.New("numbers are not explained: mend the rows, or name the cancelled numbers in --cancelled")

// run compares the numbers, prints the findings, and returns how many are errors.
func (f *auditFlags) run(cmd *cobra.Command) (errors int64, err error) {
	switch {
	case f.Table == "":
		return 0, usage.Errorf("say --table")
	case f.asJSON && f.asCSV:
		return 0, usage.Errorf("--json and --csv print different things: take one")
	}
	cfg, err := loadPolicy(f.config)
	if err != nil {
		return 0, err
	}
	ctx := cmd.Context()
	db, d, err := f.database.Open(ctx)
	if err != nil {
		return 0, err
	}
	defer db.Close()
	a, err := audit.Find(ctx, db, d, cfg, &f.Options)
	if err != nil {
		return 0, err
	}
	shown := func(int64) {}
	if terminal.Is(cmd.ErrOrStderr()) {
		total, err := a.Rows(ctx, db)
		if err != nil {
			return 0, err
		}
		bar := terminal.NewProgress(cmd.ErrOrStderr(), int(total))
		defer bar.End()
		shown = func(rows int64) { bar.Show(int(rows)) }
	}
	printer := audit.NewText(cmd.OutOrStdout())
	switch {
	case f.asJSON:
		printer = audit.NewJSON(cmd.OutOrStdout())
	case f.asCSV:
		printer = audit.NewCSV(cmd.OutOrStdout())
	}
	sum, err := a.Run(ctx, db, printer.Print, shown)
	if err != nil {
		return 0, err
	}
	return sum.Errors, printer.End(sum)
}
