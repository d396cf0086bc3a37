package binding

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// StoredClaim is the row of a [Claim], as it was read from keyfill_sequences.
type StoredClaim struct {
	Name   string
	Next   int64
	Column store.Column
}

// IsOf reports whether the claim is for a column.
func (c StoredClaim) IsOf(column store.Column) bool { return column.String() == c.Column.String() }

// ClaimsOf returns all claims of a state (stored counter) in the database of s, one for
// each column that the state serves.
func ClaimsOf(ctx context.Context, s *store.Store, state string) ([]StoredClaim, error) {
	// The names of the stored counter's rows begin with this text, followed by a space, or
	// by the hyphen before the hash that ends a name that was too long.
	begin := store.CutName(state)
	query := s.Engine.RowsBetween()
	rows, err := s.Conn.Rows(ctx, query.Text, query.Bind(engine.Values{Name: begin + " ", Binding: begin + "."}))
	if err != nil {
		return nil, s.Failed(state, err)
	}
	var claims []StoredClaim
	for _, row := range rows {
		table, column := store.Text(row[2]), store.Text(row[3])
		if RowFor(state, store.Column{Table: table, Name: column}) != store.Text(row[0]) {
			continue // the row belongs to a stored counter other than state
		}
		one := StoredClaim{Name: store.Text(row[0]), Column: store.Column{Table: table, Name: column}}
		if schema, name, found := strings.Cut(table, "."); found {
			one.Column.Schema, one.Column.Table = schema, name
		}
		if one.Next, err = store.Integer(row[1]); err != nil {
			return nil, s.Failed(one.Name, err)
		}
		claims = append(claims, one)
	}
	return claims, nil
}
