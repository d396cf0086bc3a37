package database

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/keyfill/keyfill/dialect"
)

// Product returns which engine a server is, where several speak the protocol of one family;
// nil if it is the family's own, or is not known.
func Product(ctx context.Context, db *sql.DB, d *dialect.Dialect) (*dialect.Product, error) {
	return dialect.ProductOf(d.Family, func(query string) (string, error) {
		var answer string
		if err := db.QueryRowContext(ctx, query).Scan(&answer); err != nil {
			return "", ctx.Err() // the server does not know the question
		}
		return answer, nil
	})
}

// Remark returns a line about a kind of source on an engine, as in "keyfill check"; empty if
// the source suits it, or if nothing is known.
func Remark(p *dialect.Product, kind string, joined bool) string {
	use, ok := dialect.UseOf(kind, joined)
	if p == nil || !ok || p.Advice[use].Cure == "" {
		return ""
	}
	a := p.Advice[use]
	return fmt.Sprintf("%s on %s: %s: %s (docs/distributed.md)", kind, p.Title, a.Why, a.Cure)
}
