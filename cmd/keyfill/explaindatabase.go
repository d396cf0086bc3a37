package main

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/policy"
)

// asked adds to a policy what a database knows, and explain by itself does not: the
// dialect, the setting by which the server reads text, and the columns of each table of
// the policy, for INSERTs without a column list. What the policy says itself stays. Nothing
// is executed but questions about these.
func (f *databaseFlags) asked(ctx context.Context, cfg *policy.Config) error {
	db, d, err := f.open(ctx)
	if err != nil {
		return err
	}
	defer db.Close()
	if cfg.Dialect != "" && cfg.Dialect != d.Name {
		return usagef("the policy says dialect: %s, and the database is %s: take the database that the policy is for", cfg.Dialect, d.Title)
	}
	cfg.Dialect = d.Name
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := askSetting(ctx, conn, d, cfg); err != nil {
		return err
	}
	rules, err := cfg.Compile(d)
	if err != nil {
		return err
	}
	for name, table := range cfg.Tables {
		schema, bare, err := rules.ParseName(name)
		if err != nil || table.Columns != nil {
			continue // a glob names no one table
		}
		found, err := catalog.Read(ctx, d, catalog.DB(db), schema, bare)
		if catalog.IsNoTable(err) {
			continue // keyfill check tells
		}
		if err != nil {
			return err
		}
		text := d.QuoteIdent(found.Name)
		if found.Schema != "" {
			text = d.QuoteIdent(found.Schema) + "." + text
		}
		columns, err := catalog.Implied(ctx, d, catalog.DB(db), catalog.Name{Schema: found.Schema, Table: found.Name, Text: text})
		if err != nil {
			return err
		}
		for i, one := range columns {
			columns[i] = d.QuoteIdent(one)
		}
		table.Columns = columns
		cfg.Tables[name] = table
	}
	return nil
}

// askSetting asks for the setting by which a session of the server reads text.
func askSetting(ctx context.Context, conn *sql.Conn, d *dialect.Dialect, cfg *policy.Config) error {
	if d.Setting == nil || cfg.SQLMode != "" || cfg.StandardConformingStrings != "" || cfg.QuotedIdentifier != "" {
		return nil
	}
	var set string
	if err := conn.QueryRowContext(ctx, d.Setting.Query).Scan(&set); err != nil {
		return fmt.Errorf("the database does not tell %s: write it into the policy (%w)", d.Setting.Name, err)
	}
	switch d.Family {
	case dialect.FamilyMySQL:
		cfg.SQLMode = cmp.Or(set, "default")
	case dialect.FamilyPostgreSQL:
		cfg.StandardConformingStrings = set
	case dialect.FamilySQLServer:
		cfg.QuotedIdentifier = map[bool]string{true: "on", false: "off"}[set == "1"]
	}
	return nil
}
