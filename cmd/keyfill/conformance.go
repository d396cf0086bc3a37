package main

import (
	"bufio"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/conformance"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
)

// conformanceFlags are the flags of keyfill conformance.
type conformanceFlags struct {
	database database.Address
	conformance.Options
	drop          string
	asJSON, child bool
}

// The bounds of the flags --rows and --rate.
const (
	leastConformanceRows = 100
	mostConformanceRows  = 10_000_000
	mostConformanceRate  = 1_000_000
)

func newConformance() *cobra.Command {
	var f conformanceFlags
	cmd := &cobra.Command{
		Use:   "conformance --driver DRIVER --dsn DSN",
		Short: "Show on your server what the documentation claims",
		Long: `Tries the claims about layouts, numberings and drivers on a server: is each shown,
refused, or not tried? Works in a schema of its own, which it drops, and refuses a
server with other sessions, replicas or publications unless --shared is given.
docs/conformance.md describes what it does, and has the results of others.`,
		Example:     `  keyfill conformance --driver sqlite --dsn any.db --rows 1000`,
		Annotations: map[string]string{exitKey: "Exit code: 0 no claim was refused, 1 an error, 2 the command line is not\nunderstood, 3 a claim was refused."},
		Hidden:      true, // the list of commands has as many lines as fit; docs/conformance.md describes it
		Args:        arguments(cobra.NoArgs),
		RunE:        func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	flags := cmd.Flags()
	addDatabase(cmd, &f.database)
	flags.IntVar(&f.Rows, "rows", 100_000, "keys of each layout")
	flags.IntVar(&f.Rate, "rate", 10_000, "rows a second at most")
	flags.StringSliceVar(&f.Only, "only", nil, "only claims whose names begin so")
	flags.BoolVar(&f.Shared, "shared", false, "run although others may notice it")
	flags.StringVar(&f.By, "by", "", "your name, for the report")
	flags.StringVar(&f.drop, "drop", "", "drop the `schema` of a killed run, and end")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON")
	flags.BoolVar(&f.child, "child", false, "")
	flags.Lookup("child").Hidden = true // the command starts itself with it
	return cmd
}

// check returns an error if a flag is out of its range.
func (f *conformanceFlags) check() error {
	switch {
	case f.Rows < leastConformanceRows || f.Rows > mostConformanceRows:
		return usage.Errorf("--rows %d: give a number from %d to %d", f.Rows, leastConformanceRows, mostConformanceRows)
	case f.Rate < 1 || f.Rate > mostConformanceRate:
		return usage.Errorf("--rate %d: give a number from 1 to %d", f.Rate, mostConformanceRate)
	}
	return nil
}

// exitRefused is the exit code if a claim was refused.
const exitRefused = 3

// errRefused is returned if a claim was refused.
var errRefused = errors.New("the server broke a claim of the documentation: look in the report for what the server did")

func (f *conformanceFlags) run(cmd *cobra.Command) (err error) {
	if f.child {
		return conformance.Child(cmd.Context(), cmd.InOrStdin(), cmd.OutOrStdout(), driverOf, nil)
	}
	if err := f.check(); err != nil {
		return err
	}
	// An interrupt ends the run, and its schema is still dropped. A second interrupt ends
	// the program at once.
	ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	target, err := f.target(ctx)
	if err != nil {
		return err
	}
	if f.drop != "" {
		return benchError(conformance.Drop(ctx, target, f.drop))
	}
	f.Out = cmd.ErrOrStderr()
	f.Child = itself
	report, err := conformance.Run(ctx, target, f.Options)
	if err != nil && report == nil {
		return benchError(err)
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	if f.asJSON {
		err = errors.Join(err, report.WriteJSON(out))
	} else {
		err = errors.Join(err, report.WriteText(out))
	}
	if err := errors.Join(err, out.Flush()); err != nil {
		return benchError(err)
	}
	if report.Count(conformance.Refused) > 0 {
		return &codeError{exitRefused, errRefused}
	}
	return nil
}

// target returns the server. A file of SQLite is neither made nor opened.
func (f *conformanceFlags) target(ctx context.Context) (conformance.Target, error) {
	dsn, d, err := f.database.DataSource()
	if err != nil {
		return conformance.Target{}, err
	}
	opened, err := driverOf(f.database.Driver, dsn)
	if err != nil {
		return conformance.Target{}, err
	}
	if conformance.HasServer(d) {
		db, of, err := f.database.Connect(ctx) // asks whether it is MySQL or MariaDB
		if err != nil {
			return conformance.Target{}, err
		}
		if err := db.Close(); err != nil {
			return conformance.Target{}, err
		}
		d = of
	}
	return conformance.Target{Name: f.database.Driver, Driver: opened, DSN: dsn, Dialect: d}, nil
}

// driverOf returns the driver of a name. It opens no connection.
func driverOf(name, dsn string) (driver.Driver, error) {
	db, err := sql.Open(name, dsn)
	if err != nil {
		return nil, usage.Errorf("the driver %s cannot read the DSN: write it as that driver's documentation says", name)
	}
	return db.Driver(), db.Close()
}

// itself returns the command of a process that fills a table for a run.
func itself(ctx context.Context) *exec.Cmd {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	return exec.CommandContext(ctx, path, "conformance", "--child")
}
