package statements_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// limitedInsert is an INSERT that has, with its keys, so many arguments: rows of
// two arguments and a key each, and as many of a key alone as are left.
func limitedInsert(e harness.Engine, total int) (query string, args []any, rows int) {
	b := e.Builder()
	var values []string
	for i := range total / 3 {
		values = append(values, "("+b.Bind(fmt.Sprint(i))+", "+b.Bind(i)+")")
	}
	for range total % 3 {
		values = append(values, "('none', -1)")
	}
	return "INSERT INTO people (name, n) VALUES " + strings.Join(values, ", "), b.Args, len(values)
}

// TestLimit has one argument less than the engine takes, as many, and one more,
// for which there are literals, but not in a prepared statement. Every row is
// where it belongs.
func TestLimit(t *testing.T) {
	t.Parallel()
	type limited struct {
		harness.Engine
		limit int
	}
	for _, c := range testturn.Some(t, []limited{{harness.SQLiteFile, 32766}, {harness.MySQLDefault, 65535}, {harness.PgxDefault, 65535}, {harness.PQDefault, 65535}}, 2) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := c.Scratch(t)
			db, _ := people(t, s)
			for total := c.limit - testturn.Share(t, 1, 0); total <= c.limit+1; total++ {
				query, args, rows := limitedInsert(c.Engine, total)
				check := func(path string, want int) {
					t.Helper()
					n := harness.Count(t, s.Raw, "SELECT COUNT(DISTINCT id) FROM people WHERE length(id) = 36 AND (name = 'none' AND n = -1 OR name = "+text(s, "n")+")")
					if n != want {
						t.Errorf("%d arguments, %s: %d rows are right, want %d", total, path, n, want)
					}
					harness.Exec(t, s.Raw, "DELETE FROM people")
				}
				harness.Exec(t, db, query, args...)
				check("direct", rows)
				_, err := harness.PreparedExec(db, query, args...)
				if total <= c.limit {
					if err != nil {
						t.Errorf("%d arguments, prepared: %v", total, err)
					}
					check("prepared", rows)
					continue
				}
				if !errors.Is(err, rewrite.ErrTooMany) {
					t.Errorf("%d arguments, prepared: %v, want %v", total, err, rewrite.ErrTooMany)
				}
				check("prepared", 0)
			}
		})
	}
}

// text returns an expression as text.
func text(s *harness.Scratch, expression string) string {
	return "CAST(" + expression + " AS CHAR(20))"
}

// TestLimitSQLServer: what goes over the wire has at most 2,098 parameters.
func TestLimitSQLServer(t *testing.T) {
	t.Parallel()
	const limit = 2098
	db, s := harness.SQLServer(t, harness.FillID("people", policy.Table{}))
	for total := limit - 1; total <= limit+1; total++ {
		var (
			values []string
			args   []any
		)
		for range total / 3 {
			n := len(args)
			values = append(values, fmt.Sprintf("(@p%d, @p%d)", n+1, n+2))
			args = append(args, fmt.Sprint(n), n)
		}
		for range total % 3 {
			values = append(values, "('none', -1)")
		}
		query := "INSERT INTO people (name, n) VALUES " + strings.Join(values, ", ")
		harness.Exec(t, db, query, args...)
		calls := s.Take()
		if len(calls) != 1 {
			t.Fatalf("%d calls", len(calls))
		}
		want := total
		if total > limit {
			want = len(args) // the keys are literals
		}
		if got := len(calls[0].Params); got != want {
			t.Errorf("%d arguments: %d parameters, want %d", total, got, want)
		}
		keys := 0
		for _, p := range calls[0].Params {
			if text, ok := p.Value.(string); ok && harness.IsKey(text) {
				keys++
			}
		}
		for text := range strings.SplitSeq(calls[0].Query, "'") {
			if harness.IsKey(text) {
				keys++
			}
		}
		if keys != len(values) {
			t.Errorf("%d arguments: %d keys, want %d", total, keys, len(values))
		}
		_, err := harness.PreparedExec(db, query, args...)
		if refused := errors.Is(err, rewrite.ErrTooMany); refused != (total > limit) {
			t.Errorf("%d arguments, prepared: %v", total, err)
		}
		s.Take()
	}
}
