package main

import (
	"cmp"
	"io"

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
			ex, err := x.Explain(query)
			if err != nil {
				return err
			}
			return printExplanation(cmd.OutOrStdout(), query, ex)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&config, "config", "", "the policy `file` (default $KEYFILL_CONFIG, else ./keyfill.yaml)")
	flags.StringVar(&dialectName, "dialect", "", "the `engine`: "+dialect.Names())
	flags.BoolVar(&asJSON, "json", false, "read and write JSON, one object a line")
	return cmd
}

const explainHelp = `Says what would become of a statement that is executed without being prepared:

  fill     a key is added
  keep     the statement brings its own key; "decided at execution" where that
           depends on the value of a placeholder
  pass     it is no INSERT into a configured table
  refuse   it is one that cannot be filled exactly: an error, before anything is
           sent; "unfilled: ..." where the policy lets it go as it is

and the text that would be sent. No database is needed: the newest version of
the engine is assumed. The mode (fill, dry_run, off) is ignored. Keys that are
written into the text are made for the occasion.

The statement is the argument, else all of standard input as one text. The
dialect is that of the policy, or of --dialect where the policy names none.

With --json, standard input is JSON Lines:
  {"id":...,"sql":"..."}
Other fields are ignored, and so are empty lines. For each there is one line on
standard output, in the same order:
  {"id":...,"action":"fill","sql":"...","table":"...","column":"...","rows":2,
   "slots":[{"arg":3,"row":1},{"arg":6,"row":2}],"literal":false,"reason":"...","offset":0}
  id        the value that came, whatever it is; null if none came
  action    fill, keep, pass or refuse
  sql       what would be sent; the statement itself unless it is filled
  table     as the policy matched it; empty for pass
  column    the key column
  rows      VALUES rows; null when that is not known
  slots     for each key its place in the final argument list and its row, both
            from 1; empty where the keys are literals
  literal   whether the keys are written into the text
  reason    why, for refuse and for a keep that is decided at execution
  offset    the byte of the statement, from 0, that the reason is about, else
            that of its verb
  end       the day on which the table's keys end, as "2089-09-06", where its
            source is a snowflake; else there is no such field
Bytes that are not UTF-8 come out as they came in. A line that is not such an
object ends the program with an error that says which line it is.`

const explainExample = `  keyfill explain --dialect mysql 'INSERT INTO orders (total) VALUES (?)'
  keyfill explain --config shop.yaml <insert.sql
  keyfill explain --config shop.yaml --dialect postgres --json <log.jsonl >explained.jsonl`

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
