// Package keyvalues makes and reads single keys outside of an INSERT, for keyfill gen and
// keyfill inspect.
package keyvalues

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/nearest"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TableKeys names a key column: the policy that has it, and the database that its source
// uses.
type TableKeys struct {
	Config, Dialect, Column string
	Database                database.Address
}

// Key returns the rule of the key column of a table, and the policy.
func (k *TableKeys) Key(table string) (policy.RuleKey, *policy.Config, error) {
	cfg, err := policy.Load(k.Config)
	if err != nil {
		return policy.RuleKey{}, nil, err
	}
	name := cmp.Or(k.Dialect, cfg.Dialect)
	if d := database.DialectOf(k.Database.Driver); d != nil {
		name = cmp.Or(name, d.Name)
	}
	if name == "" {
		return policy.RuleKey{}, nil, usage.Errorf("the policy names no dialect: say --dialect, one of %s", dialect.Names())
	}
	d, err := dialect.ByName(name)
	if err != nil {
		return policy.RuleKey{}, nil, usage.Wrap(err)
	}
	rules, err := cfg.Compile(d)
	if err != nil {
		return policy.RuleKey{}, nil, err
	}
	schema, bare, err := rules.ParseName(table)
	if err != nil {
		return policy.RuleKey{}, nil, usage.Wrap(err)
	}
	rule := rules.Match(schema, bare)
	if rule == nil {
		var names []string
		for one := range cfg.Tables {
			names = append(names, one)
		}
		return policy.RuleKey{}, nil, usage.Errorf("the policy has no table %s: name one that it has%s", table, nearest.DidYouMean(table, names))
	}
	for _, one := range rule.Keys {
		if k.Column == "" || d.Fold(k.Column, false) == one.Column {
			return one, cfg, nil
		}
	}
	if len(rule.Keys) == 0 {
		return policy.RuleKey{}, nil, usage.Errorf("the engine makes the keys of %s, whose source is identity: name another table", table)
	}
	return policy.RuleKey{}, nil, usage.Errorf("the policy has no key column %s of %s: name one of its keys in --column", k.Column, table)
}

// Generate prints n keys such as an INSERT into the table would get.
func (k *TableKeys) Generate(ctx context.Context, out, errOut io.Writer, table string, n int) error {
	key, cfg, err := k.Key(table)
	if err != nil {
		return err
	}
	counted := policy.Stateful(key.Source)
	if key.Source.Kind == policy.KindSnowflake && key.Source.Store == policy.StoreNone {
		counted = false
		k.warn(errOut, "a process that has the worker's number makes such keys too: do not store these")
	}
	if !counted {
		source, err := policy.NewSource(key.Sent(), keysource.Env{})
		if err != nil {
			return err
		}
		return Generate(ctx, out, source, keysource.Request{N: n, Layout: key.Layout})
	}
	if k.Database.IsEmpty() {
		return usage.Errorf("the keys of %s are of kind %s, which counts in a database: say --driver and --dsn, and the numbers are spent", table, key.Source.Kind)
	}
	return k.reserve(ctx, out, errOut, cfg, table, n)
}

// maxReserved is how many keys one call of keyfill.Mount.Keys is asked for at most.
const maxReserved = 1000

// reserve prints keys that it reserves with the source's counter in the database, as any
// process with keyfill does.
func (k *TableKeys) reserve(ctx context.Context, out, errOut io.Writer, cfg *policy.Config, table string, n int) (err error) {
	if k.Column != "" {
		return usage.Errorf("a source that counts gives keys of the first key column: leave --column out")
	}
	dsn, _, err := k.Database.DataSource()
	if err != nil {
		return err
	}
	d, facts, err := k.Database.OpenDriver()
	if err != nil {
		return err
	}
	if err := database.CheckFile(k.Database.Driver, dsn); err != nil {
		return err
	}
	parent, err := dbconn.Open(d, dsn)
	if err != nil || !facts.ReadsDSN(parent, dsn) {
		return k.Database.UnreadError()
	}
	c, err := keyfill.WrapConnector(parent, keyfill.Options{
		Policy: cfg, Logger: slog.New(slog.NewTextHandler(errOut, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	defer func() { err = cmp.Or(err, c.Close()) }()
	for left := n; left > 0; left -= maxReserved {
		keys, err := c.Mount().Keys(ctx, table, min(left, maxReserved))
		if err != nil {
			return err
		}
		for _, one := range keys {
			if err := printKey(out, one); err != nil {
				return err
			}
		}
	}
	k.warn(errOut, fmt.Sprintf("%s of %s spent, with what is left of the block: no INSERT gets them", terminal.Count(n, "key"), table))
	return nil
}

// warn prints a warning.
func (k *TableKeys) warn(w io.Writer, text string) {
	fmt.Fprintf(w, "%s %s\n", terminal.ColoursOf(w).Paint(terminal.Yellow, "keyfill:"), text)
}
