package check

import (
	"context"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// MayCreate reports whether the user of a connection may make keyfill's tables where a
// policy says ensure_schema. It is true if that is not known, as for a user with a role
// of MySQL.
func MayCreate(ctx context.Context, d *dialect.Dialect, q catalog.Querier) (bool, error) {
	c := &checker{ctx: ctx, d: d, q: &counted{q: q}}
	missing, err := c.missingRights("")
	return !strings.Contains(strings.Join(missing, " "), "CREATE"), err
}
