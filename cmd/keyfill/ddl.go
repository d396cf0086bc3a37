package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
)

func newDDL() *cobra.Command {
	var (
		name      string
		procedure bool
	)
	cmd := &cobra.Command{
		Use:   "ddl --dialect DIALECT",
		Short: "Print the statements that create the tables of the store",
		Long: `Prints the CREATE TABLE statements for keyfill_sequences, keyfill_workers and
keyfill_series, which hold the state of sequences and of all that counts,
snowflakes and recycled series. They do nothing where the tables are there.

With --procedure it prints keyfill_reserve too, for "via: procedure": a
procedure, for PostgreSQL and Oracle a function, that reserves in
keyfill_sequences. It is put in the place of an older one. SQLite has none. Who
calls it needs the right to execute it and to read keyfill_sequences. On SQL
Server it is CREATE OR ALTER, which 2016 SP1 is the first version to have.

They are to be run where the application finds a table without a schema, by a
user who may create tables; the application's user must be able to select,
insert and update. "ensure_schema: true" in the policy lets the application
create them itself.

DIALECT is one of ` + dialect.Names() + `. Statements end in a
semicolon, for Oracle in a line with a slash, as SQL*Plus wants it. Around a
procedure stand lines with DELIMITER, for the clients of MySQL and MariaDB, or
GO, for sqlcmd: these are no SQL, and not for a driver.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			d, err := dialect.ByName(name)
			if err != nil {
				return usagef("--dialect: %w", err)
			}
			if procedure && store.ProcedureDDL(d) == nil {
				return usagef("--procedure: %s has no procedures", d.Title)
			}
			out := bufio.NewWriter(cmd.OutOrStdout())
			printTables(out, d)
			if procedure {
				printProcedure(out, d)
			}
			return out.Flush()
		},
	}
	cmd.Flags().StringVar(&name, "dialect", "", "the engine")
	cmd.Flags().BoolVar(&procedure, "procedure", false, "print the procedure too")
	return cmd
}

// printTables prints the statements that create the tables.
func printTables(out *bufio.Writer, d *dialect.Dialect) {
	end := ";\n"
	if d.Family == dialect.FamilyOracle {
		end = "\n/\n"
	}
	for _, statement := range store.DDL(d) {
		fmt.Fprint(out, statement, end)
	}
}

// printProcedure prints the statements that create the procedure, whose
// semicolons do not end them.
func printProcedure(out *bufio.Writer, d *dialect.Dialect) {
	before, end, after := "", ";\n", ""
	switch d.Name {
	case dialect.MySQL().Name, dialect.MariaDB().Name:
		before, end, after = "DELIMITER //\n", "\n//\n", "DELIMITER ;\n"
	case dialect.SQLServer().Name:
		before, end = "-- CREATE OR ALTER: SQL Server 2016 SP1 or later, or Azure SQL Database\nGO\n", "\nGO\n"
	case dialect.Oracle().Name:
		end = "\n/\n"
	}
	fmt.Fprint(out, before)
	for _, statement := range store.ProcedureDDL(d) {
		fmt.Fprint(out, statement, end)
	}
	fmt.Fprint(out, after)
}
