package session

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// AskVersion asks the server for its version.
func (c *Conn) AskVersion(ctx context.Context) (string, error) {
	const query = "SELECT VERSION()"
	rows, err := c.QueryContext(ctx, query, nil)
	if errors.Is(err, driver.ErrSkip) {
		var stmt driver.Stmt
		if stmt, err = c.PrepareContext(ctx, query); err != nil {
			return "", err
		}
		defer stmt.Close()
		rows, err = QueryStmt(ctx, stmt, nil)
	}
	if err != nil {
		return "", err
	}
	defer rows.Close()
	dest := make([]driver.Value, len(rows.Columns()))
	if err := rows.Next(dest); err != nil {
		if err == io.EOF {
			err = anchor.Last("driver", "keyfill: SELECT VERSION() gave no row: say dialect: mysql or mariadb in the policy")
		}
		return "", err
	}
	switch v := dest[0].(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	}
	return "", anchor.Last("driver", "keyfill: SELECT VERSION() gave no text: say dialect: mysql or mariadb in the policy")
}

// AskServer finds out whether the server is MySQL or MariaDB, if that is not known.
func (c *Conn) AskServer(ctx context.Context) error {
	s := c.server
	if s.KnownDialect.Load() != nil {
		return nil
	}
	version, err := c.AskVersion(ctx)
	if err != nil {
		return err
	}
	d := s.may[0]
	if isMariaDB(version) {
		d = s.may[1]
	}
	s.KnownDialect.CompareAndSwap(nil, d)
	return nil
}

// isMariaDB reports whether a version is MariaDB's, which has the word in it:
// 10.11.19-MariaDB-0+deb12u1.
func isMariaDB(version string) bool {
	return strings.Contains(strings.ToLower(version), "mariadb")
}
