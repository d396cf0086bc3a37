// Package policycheck compares a policy with a database, and prints the findings, for
// keyfill check and keyfill init.
package policycheck

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/keys/relation"
	"github.com/keyfill/keyfill/internal/keys/table"
	"github.com/keyfill/keyfill/policy"
)

// Compare returns the findings about a policy and the database of a DSN. rate is how many
// rows a second each table gets, 0 if that is not known.
func Compare(ctx context.Context, f *database.Address, cfg *policy.Config, dsn string, rate float64) ([]keyfill.Finding, error) {
	d, facts, err := f.OpenDriver()
	if err != nil {
		return nil, err
	}
	var findings []keyfill.Finding
	if named, err := dialect.ByName(cfg.Dialect); err == nil && !facts.Speaks(named) {
		findings = append(findings, keyfill.Finding{
			Severity: check.Error, Rule: check.RuleDialect, Class: check.FirstInsert, Line: cfg.Line("dialect", ""),
			Message: fmt.Sprintf("the policy says dialect: %s, and the driver %s speaks another one, so that no database is opened", named.Name, f.Driver),
			Remedy:  "in the policy: leave dialect: out, as the driver shows it",
		})
		cfg.Dialect = ""
	}
	dialects, err := dialectsFor(cfg, facts)
	if err != nil {
		return nil, err
	}
	tables, err := relation.NewTables(table.Options{Policy: cfg}, facts, dialects)
	if err != nil {
		return nil, err
	}
	if err := database.CheckFile(f.Driver, dsn); err != nil {
		return nil, err
	}
	connector, err := dbconn.Open(d, dsn)
	if err != nil || !facts.ReadsDSN(connector, dsn) {
		return nil, f.UnreadError()
	}
	found, err := check.Run(ctx, check.Options{Tables: tables, Connector: connector, Probe: true, Rate: func(string) float64 { return rate }})
	if err != nil {
		return nil, err
	}
	for _, one := range found {
		findings = append(findings, keyfill.Finding(one))
	}
	return findings, nil
}

// dialectsFor returns the dialects that may be the server's: only the policy's, if the
// policy names one, and otherwise all that the driver works with.
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
