package joined_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// affects executes, and returns an error unless one row is affected: the check
// that the articles speak of and leave out.
func affects(ctx context.Context, c *sql.Conn, query string, args ...any) error {
	res, err := c.ExecContext(ctx, query, args...)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%d rows are affected, %v", n, err)
	}
	return nil
}

// beginOf begins a transaction that may read before it writes.
func beginOf(s *harness.Scratch) string {
	if s.Server == nil {
		return "BEGIN IMMEDIATE"
	}
	return "BEGIN"
}

// placed returns the query with its placeholders as the dialect writes them.
func placed(s *harness.Scratch, query string, places ...any) string {
	marks := make([]any, len(places))
	for i := range places {
		marks[i] = "?"
		if s.IsPostgres() {
			marks[i] = fmt.Sprintf("$%d", i+1)
		}
	}
	return fmt.Sprintf(query, marks...)
}
