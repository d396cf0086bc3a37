package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource/store"
)

func newDDL() *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "ddl --dialect DIALECT",
		Short: "Print the statements that create the tables of the store",
		Long: `Prints the CREATE TABLE statements for keyfill_sequences and keyfill_workers,
which hold the state of sequences and snowflakes. They do nothing where the
tables are there.

They are to be run where the application finds a table without a schema, by a
user who may create tables; the application's user must be able to select,
insert and update. "ensure_schema: true" in the policy lets the application
create them itself.

DIALECT is one of ` + dialect.Names() + `. Statements end in a
semicolon, for Oracle in a line with a slash, as SQL*Plus wants it.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := dialect.ByName(name)
			if err != nil {
				return usagef("--dialect: %w", err)
			}
			end := ";\n"
			if d.Name == dialect.Oracle().Name {
				end = "\n/\n"
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			for _, statement := range store.DDL(d) {
				fmt.Fprint(out, statement, end)
			}
			return out.Flush()
		},
	}
	cmd.Flags().StringVar(&name, "dialect", "", "the engine")
	return cmd
}
