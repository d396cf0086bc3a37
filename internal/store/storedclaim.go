package store

import (
	"context"
	"strings"
)

// storedClaim is the row of a claim.
type storedClaim struct {
	name   string
	next   int64
	column Column
}

// isOf reports whether the claim is for a column.
func (c storedClaim) isOf(column Column) bool { return column.String() == c.column.String() }

// claimsOf returns the claims of all columns for a state, in the database of the claims.
func claimsOf(ctx context.Context, r *Store, state string) ([]storedClaim, error) {
	// The names of the rows begin with this, and go on with a space, or with the hyphen
	// before the hash of a name that is too long.
	begin := cutName(state)
	query := r.engine.rowsBetween()
	rows, err := r.conn.rows(ctx, query.text, query.bind(values{Name: begin + " ", Binding: begin + "."}))
	if err != nil {
		return nil, r.failed(state, err)
	}
	var claims []storedClaim
	for _, row := range rows {
		table, column := toText(row[2]), toText(row[3])
		if BindingRow(state, Column{Table: table, Name: column}) != toText(row[0]) {
			continue // another state's
		}
		one := storedClaim{name: toText(row[0]), column: Column{Table: table, Name: column}}
		if schema, name, found := strings.Cut(table, "."); found {
			one.column.Schema, one.column.Table = schema, name
		}
		if one.next, err = toInteger(row[1]); err != nil {
			return nil, r.failed(one.name, err)
		}
		claims = append(claims, one)
	}
	return claims, nil
}
