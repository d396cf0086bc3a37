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
keyfill_series, the tables in which sources keep how far they have counted. The
statements do nothing where the tables are there.

Run the statements in the database and schema of the application's connection, as
a user who may create tables. The application's user must be able to select,
insert and update. With "ensure_schema: true" in the policy the application
creates the tables itself.

With --procedure the command prints keyfill_reserve too, for "via: procedure". It
is a procedure, for PostgreSQL and Oracle a function, that reserves in
keyfill_sequences, and it takes the place of an older one. Who calls it needs the
right to execute it and to read keyfill_sequences. SQLite has no procedures. SQL
Server has CREATE OR ALTER, which the statement uses, from 2016 SP1 on.

DIALECT is one of ` + dialect.Names() + `.
The first line is a comment with the least version of the server that sources with
these tables need.
Statements end in a semicolon, for Oracle in a line with a slash, as SQL*Plus
wants it. Lines with DELIMITER, for the clients of MySQL and MariaDB, or with GO,
for sqlcmd, stand around a procedure. These lines are no SQL, and not for a driver.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" {
				return usagef("say --dialect, one of %s", dialect.Names())
			}
			d, err := dialect.ByName(name)
			if err != nil {
				return usagef("--dialect: %w", err)
			}
			if procedure && store.ProcedureDDL(d) == nil {
				return usagef("--procedure: %s has no procedures; leave it out", d.Title)
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

// leastVersions are the servers, by dialect, that have what the statements on the
// tables use: those that make them, and those by which sources reserve in them.
var leastVersions = map[string]string{
	"mysql":     "MySQL 8.0",
	"mariadb":   "MariaDB 10.5",
	"postgres":  "PostgreSQL 12",
	"sqlite":    "SQLite 3.35",
	"sqlserver": "SQL Server 2016 or Azure SQL Database",
	"oracle":    "Oracle Database 12c",
}

// printTables prints the statements that create the tables.
func printTables(out *bufio.Writer, d *dialect.Dialect) {
	fmt.Fprintf(out, "-- %s or later\n", leastVersions[d.Name])
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
