package schemafile

import (
	"context"
	"database/sql"
	"io"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlscript"
)

// Execute executes on a database those statements of the scripts that make and change
// tables of SQLite, and returns the statements that fail. It skips statements that could
// reach another file, or run code of a module.
func Execute(ctx context.Context, db *sql.DB, scripts ...io.Reader) ([]Unread, error) {
	d := dialect.SQLite()
	var unread []Unread
	for _, script := range scripts {
		isDown := false
		for one, err := range sqlscript.Statements(d, script) {
			if err != nil {
				return nil, err
			}
			if isDown = goesDown(one.Comments, isDown); isDown {
				continue
			}
			switch firstWord(one.Text) {
			case "create", "alter", "drop":
			default:
				continue
			}
			s := &statement{d: d, tokens: tokensOf(d, one.Text)}
			if s.is("create", "virtual") {
				unread = append(unread, Unread{Line: one.Line, What: firstWords(s.tokens)})
				continue
			}
			if _, err := db.ExecContext(ctx, one.Text); err != nil {
				if ctx.Err() != nil {
					return nil, ctx.Err()
				}
				unread = append(unread, Unread{Line: one.Line, What: firstWords(s.tokens)})
			}
		}
	}
	return unread, nil
}
