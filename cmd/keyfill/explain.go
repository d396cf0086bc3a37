package main

import (
	"cmp"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/policy"
)

func newExplain() *cobra.Command {
	var (
		config, dialectName string
		asJSON              bool
	)
	cmd := &cobra.Command{
		Use:     "explain [STATEMENT]",
		Short:   "Say what would become of a statement",
		Long:    explainHelp,
		Example: explainExample,
		Args:    arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && len(args) > 0 {
				return usagef("--json reads its statements from standard input: give none as arguments")
			}
			x, err := newExplainer(config, dialectName)
			if err != nil {
				return err
			}
			if asJSON {
				return explainLines(x, cmd.InOrStdin(), cmd.OutOrStdout())
			}
			query, err := statementFrom(args, cmd.InOrStdin())
			if err != nil {
				return err
			}
			if strings.TrimSpace(query) == "" {
				return usagef("there is no statement: give one as an argument, or on standard input")
			}
			ex, err := x.Explain(query)
			if err != nil {
				return err
			}
			return printExplanation(cmd.OutOrStdout(), query, ex)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config, "config", "", "the policy `file` ($KEYFILL_CONFIG, else ./keyfill.yaml)")
	flags.StringVar(&dialectName, "dialect", "", "the `engine`, where the policy names none")
	flags.BoolVar(&asJSON, "json", false, "read and write JSON, one object a line")
	return cmd
}

const explainHelp = `Says what would become of a statement: fill (a key is added), keep (the statement
brings its own), pass (not an INSERT into a configured table) or refuse (an error,
before anything is sent), and what would be sent. No database is needed. The
statement is the argument, else standard input. docs/command.md#keyfill-explain
has the fields of --json.`

const explainExample = `  keyfill explain --dialect mysql 'INSERT INTO orders (total) VALUES (?)'`

// newExplainer reads the policy, from the environment's place when config is
// empty, and joins it with the dialect of that name, or with its own when that
// is empty.
func newExplainer(config, dialectName string) (explain.Explainer, error) {
	var d *dialect.Dialect
	if dialectName != "" {
		var err error
		if d, err = dialect.ByName(dialectName); err != nil {
			return nil, &usageError{err}
		}
	}
	load := policy.FromEnvironment
	if config != "" {
		load = func() (*policy.Config, error) { return policy.Load(config) }
	}
	cfg, err := load()
	if err != nil {
		return nil, err
	}
	if d == nil && cfg.Dialect == "" {
		return nil, usagef("the policy names no dialect: say --dialect, one of %s", dialect.Names())
	}
	if d != nil && cmp.Or(cfg.Dialect, d.Name) != d.Name {
		return nil, usagef("--dialect %s, but the policy says dialect: %s; leave --dialect out", d.Name, cfg.Dialect)
	}
	if d != nil {
		cfg.Dialect = d.Name
	}
	c, err := keyfill.WrapConnector(explain.NoDatabase{}, keyfill.Options{Policy: cfg})
	if err != nil {
		return nil, err
	}
	return explain.By(c), nil
}

// statementFrom returns the argument, else all that there is to read.
func statementFrom(args []string, in io.Reader) (string, error) {
	if len(args) > 0 {
		return args[0], nil
	}
	text, err := io.ReadAll(in)
	return string(text), err
}
