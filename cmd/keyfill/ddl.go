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
application needs SELECT, INSERT and UPDATE. See docs/command.md#keyfill-ddl.`,
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

// scripts holds, for each dialect, the text that keyfill ddl prints around its statements.
var scripts = map[string]struct {
	least string // the oldest server that can run the statements and the queries that reserve numbers
	end   string // the text after each statement, such as a semicolon

	// A client that ends a statement at each semicolon needs another end mark for a
	// procedure, which contains semicolons.
	procedureBegin, procedureEnd, procedureAfter string
}{
	"mysql":    {least: "MySQL 8.0", end: ";\n", procedureBegin: "DELIMITER //\n", procedureEnd: "\n//\n", procedureAfter: "DELIMITER ;\n"},
	"mariadb":  {least: "MariaDB 10.5", end: ";\n", procedureBegin: "DELIMITER //\n", procedureEnd: "\n//\n", procedureAfter: "DELIMITER ;\n"},
	"postgres": {least: "PostgreSQL 12", end: ";\n", procedureEnd: ";\n"},
	"sqlite":   {least: "SQLite 3.35", end: ";\n", procedureEnd: ";\n"},
	"sqlserver": {least: "SQL Server 2016 or Azure SQL Database", end: ";\n",
		procedureBegin: "-- CREATE OR ALTER: SQL Server 2016 SP1 or later, or Azure SQL Database\nGO\n", procedureEnd: "\nGO\n"},
	"oracle": {least: "Oracle Database 12c", end: "\n/\n", procedureEnd: "\n/\n"},
}

// printTables prints the statements that create the tables.
func printTables(out *bufio.Writer, d *dialect.Dialect) {
	script := scripts[d.Name]
	fmt.Fprintf(out, "-- %s or later\n", script.least)
	for _, statement := range store.DDL(d) {
		fmt.Fprint(out, statement, script.end)
	}
}

// printProcedure prints the statements that create the procedure.
func printProcedure(out *bufio.Writer, d *dialect.Dialect) {
	script := scripts[d.Name]
	fmt.Fprint(out, script.procedureBegin)
	for _, statement := range store.ProcedureDDL(d) {
		fmt.Fprint(out, statement, script.procedureEnd)
	}
	fmt.Fprint(out, script.procedureAfter)
}
