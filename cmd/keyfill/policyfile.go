package main

import (
	"cmp"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// loadPolicy reads a policy file. If file is empty, it reads the policy that the
// environment names.
func loadPolicy(file string) (*policy.Config, error) {
	if file == "" {
		return policy.FromEnvironment()
	}
	return policy.Load(file)
}

// joinDialect sets the dialect of a policy that names none to name, which is from the
// command line and may be empty. It returns the dialect of the policy.
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
