package harness

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
)

// SendUnlisted executes an INSERT without a column list in the given form, such as "exec"
// or "prepared".
func SendUnlisted(ctx context.Context, db *sql.DB, form, query string, args []any) error {
	switch form {
	case "direct":
		_, err := db.ExecContext(ctx, query, args...)
		return err
	case "prepared":
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil {
			return err
		}
		defer stmt.Close()
		_, err = stmt.ExecContext(ctx, args...)
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()
	if _, err := tx.ExecContext(ctx, query, args...); err != nil {
		return err
	}
	return tx.Commit()
}

// preparer prepares statements; here it is a transaction.
type preparer interface {
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// Load sends rows as the executions of a bulk load and ends it.
func Load(ctx context.Context, x preparer, query string, rows ...[]any) error {
	stmt, err := x.PrepareContext(ctx, query)
	if err != nil {
		return err
	}
	defer stmt.Close()
	for _, row := range rows {
		if _, err := stmt.ExecContext(ctx, row...); err != nil {
			return err
		}
	}
	res, err := stmt.ExecContext(ctx)
	if err != nil {
		return err
	}
	if n, err := res.RowsAffected(); err != nil || n != int64(len(rows)) {
		return fmt.Errorf("%d rows affected, want %d; error %v", n, len(rows), err)
	}
	return stmt.Close()
}

// Runner executes statements: a *sql.DB, a *sql.Tx or a *sql.Conn.
type Runner interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
}

// SendOnce executes a statement once in the given form, such as "prepared" or
// "transaction".
func SendOnce(ctx context.Context, db *sql.DB, form, query string, args []any) (sql.Result, error) {
	switch form {
	case "prepared":
		stmt, err := db.PrepareContext(ctx, query)
		if err != nil {
			return nil, err
		}
		defer stmt.Close()
		return stmt.ExecContext(ctx, args...)
	case "transaction":
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return nil, err
		}
		defer tx.Rollback()
		res, err := tx.ExecContext(ctx, query, args...)
		if err != nil {
			return nil, err
		}
		return res, tx.Commit()
	}
	return db.ExecContext(ctx, query, args...)
}

// RowsOf returns the rows of a query as text.
func RowsOf(t *testing.T, db *sql.DB, query string) []string {
	t.Helper()
	rows, err := db.Query(query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		dest := make([]any, len(columns))
		for i := range values {
			dest[i] = &values[i]
		}
		if err := rows.Scan(dest...); err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprint(values))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return all
}

// SeveralPaths are the ways in which tests send a text of several statements.
var SeveralPaths = map[string]func(ctx context.Context, db *sql.DB, text string, args ...any) error{
	"exec": func(ctx context.Context, db *sql.DB, text string, args ...any) error {
		_, err := db.ExecContext(ctx, text, args...)
		return err
	},
	"query": func(ctx context.Context, db *sql.DB, text string, args ...any) error {
		rows, err := db.QueryContext(ctx, text, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for more := true; more; more = rows.NextResultSet() {
			for rows.Next() {
			}
		}
		return rows.Err()
	},
	"prepared": func(ctx context.Context, db *sql.DB, text string, args ...any) error {
		stmt, err := db.PrepareContext(ctx, text)
		if err != nil {
			return err
		}
		defer stmt.Close()
		_, err = stmt.ExecContext(ctx, args...)
		return err
	},
}
