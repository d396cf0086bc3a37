package main

import (
	"cmp"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// tableKeys are the flags by which a command finds a key column of a policy, and the
// database that counts for it.
type tableKeys struct {
	config, dialect, column string
	driver, dsn, dsnEnv     string
}

// add adds the flags of the policy.
func (k *tableKeys) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&k.config, "config", "", "the policy `file` of the table")
	cmd.Flags().StringVar(&k.dialect, "dialect", "", "the `engine`, where the policy names none")
	cmd.Flags().StringVar(&k.column, "column", "", "the key `column`, where the table has several")
}

// key returns what the policy says of the key column of a table.
func (k *tableKeys) key(table string) (policy.RuleKey, *policy.Config, error) {
	cfg, err := policy.Load(k.config)
	if err != nil {
		return policy.RuleKey{}, nil, err
	}
	name := cmp.Or(k.dialect, cfg.Dialect, k.speaks())
	if name == "" {
		return policy.RuleKey{}, nil, usagef("the policy names no dialect: say --dialect, one of %s", dialect.Names())
	}
	d, err := dialect.ByName(name)
	if err != nil {
		return policy.RuleKey{}, nil, &usageError{err}
	}
	rules, err := cfg.Compile(d)
	if err != nil {
		return policy.RuleKey{}, nil, err
	}
	schema, bare, err := rules.ParseName(table)
	if err != nil {
		return policy.RuleKey{}, nil, &usageError{err}
	}
	rule := rules.Match(schema, bare)
	if rule == nil {
		var names []string
		for one := range cfg.Tables {
			names = append(names, one)
		}
		return policy.RuleKey{}, nil, usagef("the policy has no table %s: name one that it has%s", table, nearest.DidYouMean(table, names))
	}
	for _, one := range rule.Keys {
		if k.column == "" || d.Fold(k.column, false) == one.Column {
			return one, cfg, nil
		}
	}
	if len(rule.Keys) == 0 {
		return policy.RuleKey{}, nil, usagef("the engine makes the keys of %s, whose source is identity: name another table", table)
	}
	return policy.RuleKey{}, nil, usagef("the policy has no key column %s of %s: name one of its keys in --column", k.column, table)
}

// speaks returns the name of the dialect that the driver speaks, "" where no driver is
// named.
func (k *tableKeys) speaks() string {
	for _, one := range databaseDrivers {
		if one.name == k.driver {
			return one.dialect().Name
		}
	}
	return ""
}

// generate prints keys as the table would get them.
func (k *tableKeys) generate(cmd *cobra.Command, args []string, n int) error {
	if len(args) == 0 {
		return usagef("--config needs a table of the policy: name it")
	}
	key, cfg, err := k.key(args[0])
	if err != nil {
		return err
	}
	counted := policy.Stateful(key.Source)
	if key.Source.Kind == policy.KindSnowflake && key.Source.Store == policy.StoreNone {
		counted = false
		k.warn(cmd.ErrOrStderr(), "a process that has the worker's number makes such keys too: do not store these")
	}
	if !counted {
		source, err := policy.NewSource(key.Source, keysource.Env{})
		if err != nil {
			return err
		}
		return generate(cmd, source, keysource.Request{N: n, Layout: key.Layout})
	}
	if k.driver == "" && k.dsn == "" && k.dsnEnv == "" {
		return usagef("the keys of %s are of kind %s, which counts in a database: say --driver and --dsn, and the numbers are spent", args[0], key.Source.Kind)
	}
	return k.reserve(cmd, cfg, args[0], n)
}

// maxReserved is how many keys are asked of a mount at a time: see keyfill.Mount.Keys.
const maxReserved = 1000

// reserve prints keys that the state of the source gives, as to any other process.
func (k *tableKeys) reserve(cmd *cobra.Command, cfg *policy.Config, table string, n int) (err error) {
	if k.column != "" {
		return usagef("a source that counts gives keys of the first key column: leave --column out")
	}
	flags := checkFlags{driver: k.driver, dsn: k.dsn, dsnEnv: k.dsnEnv}
	d, facts, err := flags.open()
	if err != nil {
		return err
	}
	dsn, err := flags.resolve()
	if err != nil {
		return err
	}
	if err := isThere(k.driver, dsn); err != nil {
		return err
	}
	parent, err := dbconn.Open(d, dsn)
	if err != nil || !facts.ReadsDSN(parent, dsn) {
		return flags.unread()
	}
	c, err := keyfill.WrapConnector(parent, keyfill.Options{
		Policy: cfg, Logger: slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, c.Close()) }()
	for left := n; left > 0; left -= maxReserved {
		keys, err := c.Mount().Keys(cmd.Context(), table, min(left, maxReserved))
		if err != nil {
			return err
		}
		for _, one := range keys {
			if err := printKey(cmd.OutOrStdout(), one); err != nil {
				return err
			}
		}
	}
	k.warn(cmd.ErrOrStderr(), fmt.Sprintf("%s of %s spent, with what is left of the block: no INSERT gets them", howMany(n, "key"), table))
	return nil
}

// warn tells what the user has to know besides the keys.
func (k *tableKeys) warn(w io.Writer, text string) {
	fmt.Fprintf(w, "%s %s\n", coloursOf(w).paint(yellow, "keyfill:"), text)
}

// readings returns the ways to read text as a key that the source of the column has made.
func readings(key policy.RuleKey, text string) ([]keysource.Reading, error) {
	source := key.Source
	switch source.Kind {
	case policy.KindCoprime, policy.KindPseudorandom, policy.KindScatter, policy.KindComposite:
		m, err := source.Mapping(key.State, key.MaxBits)
		if err != nil {
			return nil, err
		}
		one, err := keysource.InspectAs(text, m)
		return []keysource.Reading{one}, err
	case policy.KindSnowflake:
		one, err := keysource.InspectSnowflake(text, source.SnowflakeOptions().Bits)
		return []keysource.Reading{one}, err
	}
	all, err := keysource.Inspect(text)
	if err != nil {
		return nil, err
	}
	var own []keysource.Reading
	for _, one := range all {
		switch {
		case key.Integer && one.Kind == "integer":
			own = append(own, keysource.Reading{Kind: source.Kind})
		case one.Kind == source.Kind && one.Layout == key.Layout && (one.Epoch == "" || one.Epoch == cmp.Or(source.Epoch, keysource.EpochDotNet)):
			own = append(own, one)
		}
	}
	if own == nil {
		return nil, fmt.Errorf("the key is none of kind %s%s: leave --config out to see what it can be", source.Kind, inLayout(key.Layout))
	}
	return own, nil
}

func inLayout(l dialect.Layout) string {
	if l == "" {
		return ""
	}
	return " in the layout " + strings.ReplaceAll(string(l), "_", " ")
}
