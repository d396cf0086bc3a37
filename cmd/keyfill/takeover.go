package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
)

func newTakeover() *cobra.Command {
	var at database.Address
	cmd := &cobra.Command{
		Use:   "takeover --driver DRIVER --dsn DSN",
		Short: "Say that this server alone writes the rows of states",
		Long: `Writes the identity of the server into the rows of keyfill_sequences that name
another server. Run it where two servers have replicated to each other, and all
programs insert at this one from now on: programs that have refused to go on do
so then. It changes no number, and may run beside programs:
docs/command.md#keyfill-takeover.`,
		Example: "  keyfill takeover --driver sqlite --dsn shop.db",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			db, d, err := at.Open(ctx)
			if err != nil {
				return err
			}
			defer db.Close()
			s := store.New(d, db)
			if !reserver.Signs(s) {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "rows name their server on PostgreSQL and MariaDB alone: there is nothing to do")
				return err
			}
			named, err := reserver.SignAll(ctx, s)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d rows of keyfill_sequences name this server\n", named)
			return err
		},
	}
	addDatabase(cmd, &at)
	return cmd
}
