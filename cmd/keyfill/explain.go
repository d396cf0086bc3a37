package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/explainreport"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
)

// explainFlags are the flags of keyfill explain.
type explainFlags struct {
	config, dialect   string
	database          database.Address
	files             []string
	format            string
	asJSON            bool
	summary, literals bool
	failOn            []string
}

func newExplain() *cobra.Command {
	var f explainFlags
	cmd := &cobra.Command{
		Use:         "explain [STATEMENT | -f FILE]",
		Short:       "Show what keyfill does with statements: one, a file, or a log",
		Long:        explainHelp,
		Example:     explainExample,
		Annotations: map[string]string{exitKey: explainExit},
		Args:        arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(args); err != nil {
				return err
			}
			policy, err := f.policy(cmd.Context())
			if err != nil {
				return err
			}
			defer policy.Close()
			return f.run(cmd, policy, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "the policy `file` ($KEYFILL_CONFIG, else ./keyfill.yaml)")
	flags.StringVar(&f.dialect, "dialect", "", "the `engine`, where the policy names none")
	flags.StringArrayVarP(&f.files, "file", "f", nil, "a `file` of SQL, or a log; - is standard input")
	flags.StringVar(&f.format, "format", "", "sql, "+strings.Join(explainreport.LogFormats(), ", "))
	flags.BoolVar(&f.summary, "summary", false, "count by table, outcome and reason, as logs are")
	flags.BoolVar(&f.literals, "literals", false, "show the strings and numbers of a log")
	flags.StringSliceVar(&f.failOn, "fail-on", nil, "`outcomes` that make the exit code 1")
	flags.BoolVar(&f.asJSON, "json", false, "write JSON; without -f read it too")
	addDatabase(cmd, &f.database)
	completes(cmd, "format", append([]string{explainreport.FormatSQL}, explainreport.LogFormats()...)...)
	completes(cmd, "fail-on", explainreport.Actions...)
	return cmd
}

const explainHelp = `Shows what keyfill does with a statement: fill (it adds a key), keep (the statement
brings its own), pass (no INSERT into a configured table) or refuse (an error, before
anything is sent). It needs no database; one that --driver names is asked what the
driver would ask. docs/explaining.md lists the logs that it reads, docs/command.md
the fields of --json; slots[].statement is which INSERT of a text.`

const explainExample = `  keyfill explain --dialect mysql 'INSERT INTO orders (total) VALUES (?)'`

const explainExit = "Exit code: 0 done, 1 an error, or by --fail-on, 2 a wrong command line."

// check returns an error if flags and arguments contradict each other.
func (f *explainFlags) check(args []string) error {
	if len(f.files) > 0 && len(args) > 0 {
		return usage.Errorf("-f reads statements from a file: give none as an argument")
	}
	if f.asJSON && len(args) > 0 {
		return usage.Errorf("--json reads its statements from standard input, or from -f: give none as arguments")
	}
	if f.format != "" && f.format != explainreport.FormatSQL && !slices.Contains(explainreport.LogFormats(), f.format) {
		return usage.Errorf("--format %s is not known: say one of sql, %s", f.format, strings.Join(explainreport.LogFormats(), ", "))
	}
	if f.failOn != nil && len(f.failOn) == 0 {
		return usage.Errorf("--fail-on names no outcome: name some of %s", strings.Join(explainreport.Actions, ", "))
	}
	for _, one := range f.failOn {
		if !slices.Contains(explainreport.Actions, one) {
			return usage.Errorf("--fail-on takes outcomes: name some of %s", strings.Join(explainreport.Actions, ", "))
		}
	}
	return nil
}

// policy reads the policy file, and sets its dialect from the database or from --dialect.
func (f *explainFlags) policy(ctx context.Context) (*explainreport.Policy, error) {
	cfg, err := loadPolicy(f.config)
	if err != nil {
		return nil, err
	}
	if !f.database.IsEmpty() {
		if f.dialect != "" {
			return nil, usage.Errorf("the database shows the dialect: leave --dialect out")
		}
		if _, err := f.database.DialectFor(ctx, cfg); err != nil {
			return nil, err
		}
	}
	d, err := joinDialect(cfg, f.dialect)
	if err != nil {
		return nil, err
	}
	return explainreport.NewPolicy(ctx, cfg, d, &f.database)
}

// run explains the statements of an argument, of files, or of standard input.
func (f *explainFlags) run(cmd *cobra.Command, policy *explainreport.Policy, args []string) error {
	if f.asJSON && len(f.files) == 0 {
		if f.summary {
			return usage.Errorf("--json without -f answers each request on standard input: leave --summary out, or say -f")
		}
		answered, err := policy.Answer(cmd.InOrStdin(), cmd.OutOrStdout())
		if err != nil {
			return err
		}
		return answered.Fails(f.failOn)
	}
	options := explainreport.Options{
		Arguments: args, Files: f.files, Format: f.format, JSON: f.asJSON, Literals: f.literals,
		In: cmd.InOrStdin(), Out: cmd.OutOrStdout(), ErrOut: cmd.ErrOrStderr(),
	}
	if cmd.Flags().Changed("summary") {
		options.Summary = &f.summary
	}
	found, err := policy.Explain(options)
	if err != nil {
		return err
	}
	return found.Fails(f.failOn)
}
