package main

import (
	"bufio"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
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
		Long: `Prints the CREATE TABLE statements of keyfill_sequences, keyfill_workers and
keyfill_series, in which sources keep how far they have counted. They do nothing
where the tables are there. Run them as a user who may create tables; the
application needs SELECT, INSERT and UPDATE. docs/command.md#keyfill-ddl tells more.`,
		Example: `  keyfill ddl --dialect postgres`,
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if name == "" {
				return usage.Errorf("say --dialect, one of %s", dialect.Names())
			}
			d, err := dialect.ByName(name)
			if err != nil {
				return usage.Errorf("--dialect: %w", err)
			}
			if procedure && store.ProcedureDDL(d) == nil {
				return usage.Errorf("--procedure: %s has no procedures; leave it out", d.Title)
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

// leastVersions are the oldest servers, by dialect, that run the statements that create the
// tables and the statements by which sources reserve numbers.
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

// printProcedure prints the statements that create the procedure. They contain semicolons,
// so that a client needs another sign for their end.
func printProcedure(out *bufio.Writer, d *dialect.Dialect) {
	before, end, after := "", ";\n", ""
	switch d.Family {
	case dialect.FamilyMySQL:
		before, end, after = "DELIMITER //\n", "\n//\n", "DELIMITER ;\n"
	case dialect.FamilySQLServer:
		before, end = "-- CREATE OR ALTER: SQL Server 2016 SP1 or later, or Azure SQL Database\nGO\n", "\nGO\n"
	case dialect.FamilyOracle:
		end = "\n/\n"
	}
	fmt.Fprint(out, before)
	for _, statement := range store.ProcedureDDL(d) {
		fmt.Fprint(out, statement, end)
	}
	fmt.Fprint(out, after)
}
