package database

import (
	"context"
	"fmt"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/policy"
)

// DialectFor returns the dialect of the database, and sets it in a policy that names no
// dialect.
func (a *Address) DialectFor(ctx context.Context, cfg *policy.Config) (*dialect.Dialect, error) {
	db, d, err := a.Open(ctx)
	if err != nil {
		return nil, err
	}
	if cfg.Dialect != "" && cfg.Dialect != d.Name {
		return nil, closing(db, usage.Errorf("the policy says dialect: %s, and the database is %s: take the database that the policy is for", cfg.Dialect, d.Title))
	}
	cfg.Dialect = d.Name
	return d, db.Close()
}

// Explainer returns an explainer that explains statements on the database; cfg has to name
// the dialect. The explainer executes only the queries that keyfill itself sends before the
// statements, never the statements.
func (a *Address) Explainer(ctx context.Context, cfg *policy.Config) (explain.OnDatabase, error) {
	db, _, err := a.Connect(ctx)
	if err != nil {
		return nil, err
	}
	dsn, _, err := a.DataSource()
	if err != nil {
		return nil, closing(db, err)
	}
	parent, err := dbconn.Open(db.Driver(), dsn)
	if err != nil {
		return nil, closing(db, a.misread())
	}
	c, err := keyfill.WrapConnector(explain.Database{Connector: parent}, keyfill.Options{Policy: cfg})
	if err != nil {
		return nil, closing(db, err)
	}
	x, err := explain.On(ctx, c)
	if err != nil {
		return nil, closing(db, fmt.Errorf("%w", sqlcode.Connecting(err)))
	}
	return x, db.Close()
}
