package main

import (
	"cmp"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// loadPolicy reads the policy, from the environment's place when file is empty.
func loadPolicy(file string) (*policy.Config, error) {
	if file == "" {
		return policy.FromEnvironment()
	}
	return policy.Load(file)
}

// joinDialect gives a policy the dialect of the command line, "" for none, where it names
// none itself, and returns the dialect.
func joinDialect(cfg *policy.Config, name string) (*dialect.Dialect, error) {
	if name == "" && cfg.Dialect == "" {
		return nil, usage.Errorf("the policy names no dialect: say --dialect, one of %s", dialect.Names())
	}
	d, err := dialect.ByName(cmp.Or(name, cfg.Dialect))
	if err != nil && name != "" {
		return nil, usage.Wrap(err)
	} else if err != nil {
		return nil, err
	}
	if cmp.Or(cfg.Dialect, d.Name) != d.Name {
		return nil, usage.Errorf("--dialect %s, but the policy says dialect: %s; leave --dialect out", d.Name, cfg.Dialect)
	}
	cfg.Dialect = d.Name
	return d, nil
}
