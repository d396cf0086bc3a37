package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/demo"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
)

func newDemo() *cobra.Command {
	var rows int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run INSERTs through keyfill on SQLite, and show what happens",
		Long: `Runs the INSERTs of an application that knows nothing of keys through keyfill, on
an SQLite that is part of this program, and shows what the application wrote, what
reached the driver, and what the table then holds. Then it stores the same rows
under an INTEGER PRIMARY KEY, under random UUIDs and under keys of keyfill, and
prints the pages of 4,096 bytes that SQLite wrote, the size of the file in MB
(1,000,000 bytes), and the time. All is in a temporary folder, which is removed.`,
		Example: `  keyfill demo --rows 20000`,
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rows < 1 {
				return usage.Errorf("--rows %d: at least one row", rows)
			}
			// The temporary folder is removed even if the user interrupts the program.
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return demo.Run(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), rows)
		},
	}
	cmd.Flags().IntVar(&rows, "rows", 200_000, "rows that the comparison stores under each kind of key")
	return cmd
}
