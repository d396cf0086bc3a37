package schema

import (
	"context"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// errNoRows is returned where there is no row to ask about.
var errNoRows = anchor.New("answer", "there is no row to ask about")

// CountsFound reports whether an UPDATE counts the rows that it finds, and not those that
// it changes, which is the effect of the flag CLIENT_FOUND_ROWS of a connection to MySQL
// and MariaDB. The flag shows only in that count, so CountsFound updates a row of the
// tables without a change. It fails if they have none.
func (s *Schema) CountsFound(ctx context.Context) (bool, error) {
	for _, table := range engine.Tables[:2] { // where there are series, there is a sequence too
		row, err := s.store.Conn.Query(ctx, "SELECT MIN(name) FROM "+table, nil)
		if err != nil {
			return false, s.store.Failed(table, err)
		}
		if row == nil || row[0] == nil {
			continue
		}
		n, err := s.store.Conn.Exec(ctx, "UPDATE "+table+" SET name = name WHERE name = ?", []any{store.Text(row[0])})
		if err != nil {
			return false, s.store.Failed(table, err)
		}
		return n > 0, nil
	}
	return false, errNoRows
}
