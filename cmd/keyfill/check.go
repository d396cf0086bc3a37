package main

import (
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/policycheck"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/internal/check"
)

// checkFlags are the flags of keyfill check.
type checkFlags struct {
	config      string
	database    database.Address
	asJSON, fix bool
	rate        float64
}

func newCheck() *cobra.Command {
	var f checkFlags
	cmd := &cobra.Command{
		Use:         "check --driver DRIVER (--dsn DSN | --dsn-env VARIABLE)",
		Short:       "Compare the policy with a database, and list what does not fit",
		Long:        checkHelp,
		Example:     checkExample,
		Annotations: map[string]string{exitKey: checkExit},
		Args:        arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.asJSON && f.fix {
				return usage.Errorf("--json and --fix print different things: take one")
			}
			if f.rate < 0 {
				return usage.Errorf("--rate is %v: it is how many rows a second each table gets", f.rate)
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
	addDatabaseAs(cmd, &f.database, strings.Join(database.Drivers(), ", "))
	flags.BoolVar(&f.asJSON, "json", false, "print JSON, one finding a line")
	flags.BoolVar(&f.fix, "fix", false, "print one script that mends what SQL can; run nothing")
	flags.Float64Var(&f.rate, "rate", 0, "find states too slow for `N` rows a second a table")
	return cmd
}

const checkHelp = `Compares a policy with the database that it is meant for, and lists what does not
fit; it changes nothing. A finding is an error (an INSERT will fail, or a key may
come out wrong), a warning or an info. docs/check.md lists the rules, with cause
and cure; docs/command.md#keyfill-check has the fields of --json.`

const checkExample = `  keyfill check --driver sqlite --dsn shop.db`

const checkExit = "Exit code: 0 no errors found, 1 errors found, 2 the database was not checked."

// errFound is returned after the findings were printed, if one of them is an error.
var errFound = errors.New("there are errors: mend them, or see docs/check.md")

// run compares the policy with the database.
func (f *checkFlags) run(ctx context.Context) ([]keyfill.Finding, error) {
	dsn, _, err := f.database.DataSource()
	if err != nil {
		return nil, err
	}
	cfg, err := loadPolicy(f.config)
	if err != nil {
		return nil, err
	}
	return policycheck.Compare(ctx, &f.database, cfg, dsn, f.rate)
}

// print prints the findings, and returns errFound if one of them is an error.
func (f *checkFlags) print(out io.Writer, findings []keyfill.Finding) error {
	var err error
	switch {
	case f.asJSON:
		err = policycheck.PrintJSON(out, findings)
	case f.fix:
		err = policycheck.PrintScript(out, findings)
	default:
		err = policycheck.PrintText(out, cmp.Or(f.config, os.Getenv("KEYFILL_CONFIG"), "keyfill.yaml"), findings)
	}
	if err == nil && slices.ContainsFunc(findings, func(one keyfill.Finding) bool { return one.Severity == check.Error }) {
		return &codeError{exitError, errFound}
	}
	return err
}
