package schema

import (
	"context"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// errNoRows is returned if keyfill's tables have no row that could be updated.
var errNoRows = anchor.New("answer", "keyfill's tables have no row that a test UPDATE could change: insert one")

// CountsFound reports whether an UPDATE counts the rows that it finds, instead of the
// rows that it changes, as it does with the flag CLIENT_FOUND_ROWS of a connection to
// MySQL or MariaDB. Only that count shows the flag, so CountsFound executes an UPDATE
// that changes nothing. It fails if keyfill's tables have no row.
func (s *Schema) CountsFound(ctx context.Context) (bool, error) {
	for _, table := range engine.Tables[:2] { // if there are series, there is a sequence too
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
