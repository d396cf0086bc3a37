package statements_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

func TestZZ(t *testing.T) {
	harness.Each(t, []harness.Engine{harness.MySQLDefault}, func(t *testing.T, s *harness.Scratch) {
		c := heldConn(t, s.Raw)
		b, _ := os.ReadFile(os.Getenv("ZZ"))
		for _, q := range strings.Split(string(b), "\n") {
			if q = strings.TrimSpace(q); q == "" {
				continue
			}
			if strings.HasPrefix(strings.ToLower(q), "select") || strings.HasPrefix(strings.ToLower(q), "show") || strings.HasPrefix(q, "?") {
				rows, err := c.QueryContext(context.Background(), strings.TrimPrefix(q, "?"))
				if err != nil {
					t.Log(q, "=>", err)
					continue
				}
				for rows.Next() {
					cols, _ := rows.Columns()
					v := make([]any, len(cols))
					p := make([]any, len(cols))
					for i := range v {
						p[i] = &v[i]
					}
					_ = rows.Scan(p...)
					for i := range v {
						if x, ok := v[i].([]byte); ok {
							v[i] = string(x)
						}
					}
					t.Log(q, "=>", v)
				}
				t.Log("rows err", rows.Err())
				rows.Close()
				continue
			}
			res, err := c.ExecContext(context.Background(), q)
			if err != nil {
				t.Log(q, "=>", err)
				continue
			}
			n, _ := res.RowsAffected()
			id, _ := res.LastInsertId()
			t.Log(q, "=>", n, id)
		}
	})
}
