package catalog_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
)

// TestInsertRule: the first rule is identified by its names; no rule and an error are
// distinguished.
func TestInsertRule(t *testing.T) {
	failed := errors.New("failed")
	for _, c := range []struct {
		name string
		rows [][]any
		err  error
		want string
	}{
		{"one", [][]any{{"audit", []byte("orders")}}, nil, `rule "audit" of "orders"`},
		{"none", nil, nil, `rule "" of ""`},
		{"failed", nil, failed, `rule "" of ""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			q := &ruleQuerier{rows: c.rows, err: c.err}
			got, err := catalog.InsertRule(t.Context(), dialect.PostgreSQL(), q, "shop", "orders")
			if got.String() != c.want || !errors.Is(err, c.err) {
				t.Errorf("%s, %v, want %s, %v", got, err, c.want, c.err)
			}
			if !strings.Contains(q.query, "pg_rewrite") || len(q.args) != 2 || q.args[0] != "orders" || q.args[1] != "shop" {
				t.Errorf("asked %q with %q", q.query, q.args)
			}
		})
	}
}

// ruleQuerier gives the same answer to each query, and keeps the last one.
type ruleQuerier struct {
	rows  [][]any
	err   error
	query string
	args  []any
}

func (q *ruleQuerier) Rows(_ context.Context, query string, args ...any) ([][]any, error) {
	q.query, q.args = query, args
	return q.rows, q.err
}
