package database

import (
	"context"
	"database/sql"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// Rules finds the rules of tables of a database.
type Rules struct {
	Policy  *policy.Policy
	Dialect *dialect.Dialect // as the server compares the names of tables
	db      *sql.DB
}

// ReadRules compiles a policy for a database, whose server speaks the dialect d.
func ReadRules(ctx context.Context, db *sql.DB, d *dialect.Dialect, cfg *policy.Config) (*Rules, error) {
	d, err := exactDialect(ctx, db, dialectOf(cfg, d))
	if err != nil {
		return nil, err
	}
	rules, err := cfg.Compile(d)
	if err != nil {
		return nil, err
	}
	return &Rules{rules, d, db}, nil
}

// dialectOf returns the dialect that the policy names, if it is one of the server's family:
// a policy with the dialect mysql also works with MariaDB. Otherwise it returns d, and
// compiling the policy returns an error if the two dialects differ.
func dialectOf(cfg *policy.Config, d *dialect.Dialect) *dialect.Dialect {
	if named, err := dialect.ByName(cfg.Dialect); err == nil && named.Family == d.Family {
		return named
	}
	return d
}

// exactDialect returns the dialect as the server compares the names of tables. If table
// names are case-sensitive there, the name of a state (a stored counter) is spelled with
// the case of the table's name.
func exactDialect(ctx context.Context, db *sql.DB, d *dialect.Dialect) (*dialect.Dialect, error) {
	if !d.Grammar.TableCase {
		return d, nil
	}
	exact, err := catalog.Exact(ctx, catalog.DB(db))
	if exact {
		d = d.WithExactTables()
	}
	return d, err
}

// Of returns the rule of a table, nil if the policy has none.
func (r *Rules) Of(ctx context.Context, found *catalog.Table) (*policy.Rule, error) {
	home, err := catalog.Read(ctx, r.Dialect, catalog.DB(r.db), "", r.Dialect.FoldTable(found.Name, true))
	if err != nil && !catalog.IsNoTable(err) {
		return nil, err
	}
	return r.At(found, err == nil && home.Schema == found.Schema), nil
}

// At returns the rule of a table. visible reports whether the table is found by its name
// without a schema.
func (r *Rules) At(found *catalog.Table, visible bool) *policy.Rule {
	schema, name := r.Dialect.Fold(found.Schema, true), r.Dialect.FoldTable(found.Name, true)
	if visible {
		if rule := r.Policy.MatchFound(policy.Found{Schema: schema, Bare: true, Home: true}, name); rule != nil {
			return rule
		}
	}
	return r.Policy.MatchFound(policy.Found{Schema: schema, Home: visible}, name)
}

// SplitColumn splits the name of a column at the last dot that is not in quotes. The table is
// empty if there is none.
func SplitColumn(d *dialect.Dialect, named string) (table, column string) {
	for dot := len(named) - 1; dot > 0; dot-- {
		if named[dot] != '.' {
			continue
		}
		table, column = named[:dot], named[dot+1:]
		_, _, tableErr := SplitName(d, table)
		schema, _, err := SplitName(d, column)
		if tableErr == nil && err == nil && schema == "" {
			return table, column
		}
	}
	return "", ""
}
