package approaches

import (
	"context"
	"database/sql"
	"fmt"
)

// Describe returns the name and version of the server of a DSN. It returns an error if
// commits are more or less durable than the form of the transactions says.
func (e Engine) Describe(ctx context.Context, dsn string, f Form) (string, error) {
	connector, err := e.Connector(dsn)
	if err != nil {
		return "", err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	var version, synced string
	if err := db.QueryRowContext(ctx, e.version).Scan(&version); err != nil {
		return "", err
	}
	if err := db.QueryRowContext(ctx, e.synced).Scan(&synced); err != nil {
		return "", err
	}
	if (synced == e.durable) != f.Durable {
		return "", fmt.Errorf("approaches: %s: the settings of commits are %q, want durable %v, which is %q", version, synced, f.Durable, e.durable)
	}
	return version, nil
}
