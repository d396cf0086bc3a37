package main

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/policy"
)

// checkFlags are the flags of keyfill check.
type checkFlags struct {
	config, driver, dsn, dsnEnv string
	asJSON, fix                 bool
}

func newCheck() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:         "check --driver DRIVER (--dsn DSN | --dsn-env VARIABLE)",
		Short:       "Compare the policy with a database, and tell all that does not fit",
		Long:        checkHelp,
		Example:     checkExample,
		Annotations: map[string]string{exitKey: checkExit},
		Args:        arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.asJSON && f.fix {
				return usagef("--json and --fix print different things: take one")
			}
			findings, err := f.run(cmd.Context())
			if err != nil {
				return &codeError{exitUsage, err}
			}
			return f.print(cmd.OutOrStdout(), findings)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "the policy `file` ($KEYFILL_CONFIG, else ./keyfill.yaml)")
	flags.StringVar(&f.driver, "driver", "", strings.Join(checkDrivers, ", "))
	flags.StringVar(&f.dsn, "dsn", "", "what the driver opens; others may see it")
	flags.StringVar(&f.dsnEnv, "dsn-env", "", "the environment `variable` that holds the DSN")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON, one finding a line")
	flags.BoolVar(&f.fix, "fix", false, "print one script that mends what SQL can; run nothing")
	return cmd
}

const checkHelp = `Compares a policy with the database that it is meant for, and tells all that it
finds; it changes nothing. A finding is an error (an INSERT will fail, or a key may
come out wrong), a warning or an info. docs/check.md lists the rules, with cause
and cure; docs/command.md#keyfill-check has the fields of --json.`

const checkExample = `  keyfill check --driver sqlite --dsn shop.db`

const checkExit = "Exit code: 0 no error is found, 1 an error is, 2 nothing could be looked at."

// codeError is an error with an exit code of its own.
type codeError struct {
	code int
	error
}

func (e *codeError) Unwrap() error { return e.error }

// errFound is for findings that are errors, which were printed.
var errFound = errors.New("there are errors: mend them, or see docs/check.md")

// run looks at the database.
func (f *checkFlags) run(ctx context.Context) ([]keyfill.Finding, error) {
	if _, _, err := f.open(); err != nil {
		return nil, err
	}
	dsn, err := f.resolve()
	if err != nil {
		return nil, err
	}
	cfg, err := loadPolicy(f.config)
	if err != nil {
		return nil, err
	}
	return f.compare(ctx, cfg, dsn)
}

// compare returns what does not fit between a policy and the database of a DSN.
func (f *checkFlags) compare(ctx context.Context, cfg *policy.Config, dsn string) ([]keyfill.Finding, error) {
	d, facts, err := f.open()
	if err != nil {
		return nil, err
	}
	var findings []keyfill.Finding
	if named, err := dialect.ByName(cfg.Dialect); err == nil && !facts.Speaks(named) {
		findings = append(findings, keyfill.Finding{
			Severity: check.Error, Rule: check.RuleDialect, Class: check.FirstInsert, Line: cfg.Line("dialect", ""),
			Message: fmt.Sprintf("the policy says dialect: %s, and the driver %s speaks another one, so that no database is opened", named.Name, f.driver),
			Remedy:  "in the policy: leave dialect: out, as the driver tells it",
		})
		cfg.Dialect = ""
	}
	dialects, err := dialectsFor(cfg, facts)
	if err != nil {
		return nil, err
	}
	tables, err := keys.New(keys.Options{Policy: cfg}, facts, dialects)
	if err != nil {
		return nil, err
	}
	if err := isThere(f.driver, dsn); err != nil {
		return nil, err
	}
	connector, err := dbconn.Open(d, dsn)
	if err != nil || !facts.ReadsDSN(connector, dsn) {
		return nil, f.unread()
	}
	found, err := check.Run(ctx, check.Options{Tables: tables, Connector: connector})
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		findings = append(findings, keyfill.Finding(one))
	}
	return findings, nil
}

// open returns the driver of the command line.
func (f *checkFlags) open() (driver.Driver, drivers.Facts, error) {
	if !slices.Contains(checkDrivers, f.driver) {
		return nil, drivers.Facts{}, usagef("say --driver, one of %s", strings.Join(checkDrivers, ", "))
	}
	db, err := sql.Open(f.driver, "")
	if err != nil {
		return nil, drivers.Facts{}, fmt.Errorf("driver %q opens no database without a DSN: take another one of %s", f.driver, strings.Join(checkDrivers, ", "))
	}
	d := db.Driver()
	if err := db.Close(); err != nil {
		return nil, drivers.Facts{}, err
	}
	facts, _ := drivers.Of(d)
	return d, facts, nil
}

// unread is the error of a DSN that the driver cannot read.
func (f *checkFlags) unread() error {
	return fmt.Errorf("the driver %s cannot read the DSN: mend it (what the driver says is left out, since it may repeat the DSN)", f.driver)
}

// resolve returns the DSN.
func (f *checkFlags) resolve() (string, error) {
	switch {
	case f.dsn != "" && f.dsnEnv != "":
		return "", usagef("--dsn and --dsn-env say the same: take one")
	case f.dsn != "":
		return f.dsn, nil
	case f.dsnEnv == "":
		return "", usagef("say --dsn, or --dsn-env with the variable that holds the DSN")
	}
	dsn := os.Getenv(f.dsnEnv)
	if dsn == "" {
		return "", usagef("the variable %s of --dsn-env is not set: let it hold the DSN", f.dsnEnv)
	}
	return dsn, nil
}

// dialectsFor returns what a driver may speak under a policy.
func dialectsFor(cfg *policy.Config, facts drivers.Facts) ([]*dialect.Dialect, error) {
	switch {
	case cfg.Dialect != "":
		d, err := dialect.ByName(cfg.Dialect)
		return []*dialect.Dialect{d}, err
	case facts.Family:
		return []*dialect.Dialect{dialect.MySQL(), dialect.MariaDB()}, nil
	}
	return []*dialect.Dialect{facts.Dialect}, nil
}

// print prints findings, and returns an error where one of them is.
func (f *checkFlags) print(out io.Writer, findings []keyfill.Finding) error {
	var err error
	switch {
	case f.asJSON:
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		for _, one := range findings {
			err = cmp.Or(err, encoder.Encode(one))
		}
	case f.fix:
		err = printScript(out, findings)
	default:
		err = f.printText(out, findings)
	}
	if err == nil && slices.ContainsFunc(findings, func(one keyfill.Finding) bool { return one.Severity == check.Error }) {
		return &codeError{exitError, errFound}
	}
	return err
}

// printText prints findings for people.
func (f *checkFlags) printText(out io.Writer, findings []keyfill.Finding) error {
	file := cmp.Or(f.config, os.Getenv("KEYFILL_CONFIG"), "keyfill.yaml")
	var b strings.Builder
	shown := coloursOf(out)
	count := map[string]int{}
	for _, one := range findings {
		count[one.Severity]++
		where := file
		if one.Line > 0 {
			where = fmt.Sprintf("%s:%d", file, one.Line)
		}
		fmt.Fprintf(&b, "%s: %s: %s", where, shown.paint(severityColours[one.Severity], one.Severity), one.Rule)
		if one.Table != "" {
			b.WriteString(": " + strings.TrimSuffix(one.Table+"."+one.Column, "."))
		}
		fmt.Fprintf(&b, "\n    %s\n    remedy: %s\n", one.Message, strings.ReplaceAll(one.Remedy, "\n", "\n    "))
	}
	fmt.Fprintf(&b, "%s, %s, %s", counted(count[check.Error], "error"), counted(count[check.Warning], "warning"), counted(count[check.Info], "info"))
	if slices.ContainsFunc(findings, func(one keyfill.Finding) bool { return one.Class == check.FirstInsert }) {
		b.WriteString(": the first INSERT fails")
	}
	b.WriteString("\n")
	_, err := io.WriteString(out, b.String())
	return err
}

// counted returns a number of things: 1 error, 2 errors.
func counted(n int, thing string) string {
	if n != 1 {
		thing += "s"
	}
	return fmt.Sprintf("%d %s", n, thing)
}

// severityColours are the colours of severities on a terminal; the others have none.
var severityColours = map[string]colour{check.Error: red, check.Warning: yellow}

// printScript prints the remedies as one script.
func printScript(out io.Writer, findings []keyfill.Finding) error {
	var all []check.Finding
	for _, one := range findings {
		all = append(all, check.Finding(one))
	}
	_, err := io.WriteString(out, check.Script(all))
	return err
}
