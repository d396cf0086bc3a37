package main

import (
	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/periods"
)

// periodFlags are the flags of the commands of keyfill period.
type periodFlags struct {
	periods.Options
	database      database.Address
	config        string
	asJSON, early bool
}

func newPeriod() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "period",
		Short: "List, close and reopen the periods of numbers",
		Long: `Shows the periods of numbers that begin again, such as the years of invoices, and
closes them: an INSERT whose date is in a closed period is an error.
docs/command.md#keyfill-period.`,
		Example: "  keyfill period list --driver sqlite --dsn shop.db invoices.number",
		Args:    arguments(cobra.NoArgs),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newPeriodList(), newPeriodClose(), newPeriodReopen())
	return cmd
}

const periodNames = `STATE is the name of a state, such as invoices.number, or TABLE.COLUMN.`

func newPeriodList() *cobra.Command {
	var f periodFlags
	cmd := &cobra.Command{
		Use:   "list STATE --driver DRIVER --dsn DSN",
		Short: "Print the rows of the periods",
		Long: `Prints each row of a period: whether it is open, its next number, and the template
of its texts. The names of rows hold the values of the columns of scope:.
` + periodNames,
		Example: "  keyfill period list --driver sqlite --dsn shop.db invoices.number",
		Args:    arguments(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args, func(n *periods.Numbering) error {
				if f.asJSON {
					return n.ListJSON(cmd.Context(), cmd.OutOrStdout())
				}
				return n.List(cmd.Context(), cmd.OutOrStdout())
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.asJSON, "json", false, "print JSON, one row a line")
	return cmd
}

func newPeriodClose() *cobra.Command {
	var f periodFlags
	cmd := &cobra.Command{
		Use:   "close STATE PERIOD --driver DRIVER --dsn DSN",
		Short: "Close a period: it gives no more numbers",
		Long: `Closes a period that has ended by the server's clock, in all programs, and prints
the last number of each row. It waits for transactions that have drawn from the
period. If it fails, run it again. PERIOD is written as 2026, 2026-Q3, 2026-11 or
2026-11-28. ` + periodNames,
		Example: "  keyfill period close --driver sqlite --dsn shop.db invoices.number 2025",
		Args:    arguments(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args, func(n *periods.Numbering) error {
				p, err := n.Period(args[1])
				if err != nil {
					return err
				}
				return n.Close(cmd.Context(), cmd.OutOrStdout(), p, f.early)
			})
		},
	}
	f.add(cmd)
	cmd.Flags().BoolVar(&f.early, "early", false, "also close a period that has not ended")
	return cmd
}

func newPeriodReopen() *cobra.Command {
	var f periodFlags
	cmd := &cobra.Command{
		Use:   "reopen STATE PERIOD --driver DRIVER --dsn DSN",
		Short: "Open a period that was closed by mistake",
		Long: `Opens a closed period again: its numbers go on where they stood. PERIOD is written
as for keyfill period close. ` + periodNames,
		Example: "  keyfill period reopen --driver sqlite --dsn shop.db invoices.number 2025",
		Args:    arguments(cobra.ExactArgs(2)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return f.run(cmd, args, func(n *periods.Numbering) error {
				p, err := n.Period(args[1])
				if err != nil {
					return err
				}
				return n.Reopen(cmd.Context(), cmd.OutOrStdout(), p)
			})
		},
	}
	f.add(cmd)
	return cmd
}

// add adds the flags that all commands of keyfill period have.
func (f *periodFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.config, "config", "", "the policy `file` ($KEYFILL_CONFIG, else ./keyfill.yaml)")
	addDatabase(cmd, &f.database)
	cmd.Flags().StringToStringVar(&f.Values, "value", nil, "a `NAME=VALUE` in the name of the state")
	cmd.Flags().Lookup("value").DefValue = "" // the help would show empty brackets
}

// run finds the numbering that the first argument names, and calls do with it.
func (f *periodFlags) run(cmd *cobra.Command, args []string, do func(*periods.Numbering) error) error {
	cfg, err := loadPolicy(f.config)
	if err != nil {
		return err
	}
	db, d, err := f.database.Open(cmd.Context())
	if err != nil {
		return err
	}
	defer db.Close()
	f.State = args[0]
	n, err := periods.Find(cmd.Context(), db, d, cfg, &f.Options)
	if err != nil {
		return err
	}
	return do(n)
}
