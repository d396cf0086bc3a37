package statements_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/faketds"
	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestTDSSelectGrows: an INSERT … SELECT whose query has more rows than were counted
// fails with error 8115, upon which the rows are counted anew, at most three times. In
// a transaction that goes on.
func TestTDSSelectGrows(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	for _, inside := range []bool{false, true} {
		for _, c := range []struct {
			number, fails, sent int
			want                string // part of the error; may be empty
		}{
			{8115, 1, 2, ""},
			{8115, 2, 3, ""},
			{8115, 3, 3, "more rows than keyfill counted"},
			{547, 1, 1, "Fehler"}, // any other error is the application's
		} {
			n := &faketds.Numbers{Next: 1, Counts: 5}
			source := harness.Counted(nil)
			conn := harness.ConnOf(t, numbersOverTDS(t, &source, n))
			failed := 0
			n.Fails = func(text string) *faketds.Error {
				if failed == c.fails || !strings.Contains(text, "INSERT INTO t (a, [id])") {
					return nil
				}
				failed++
				return &faketds.Error{Number: c.number}
			}
			end := func() error { return nil }
			if inside {
				tx, err := conn.BeginTx(ctx, nil)
				if err != nil {
					t.Fatal(err)
				}
				end = tx.Commit
			}
			n.Take()
			_, err := conn.ExecContext(ctx, "INSERT INTO t (a) SELECT a FROM s")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("%+v, in a transaction %v: %v", c, inside, err)
			}
			if err := end(); err != nil {
				t.Errorf("%+v: the transaction does not go on: %v", c, err)
			}
			sent := slices.DeleteFunc(n.Take(), func(text string) bool { return !strings.Contains(text, "INSERT INTO t (a, [id])") })
			if len(sent) != c.sent || !strings.Contains(sent[0], "9223372036854775807") {
				t.Errorf("%+v, in a transaction %v: sent %d times: %q", c, inside, len(sent), sent)
			}
		}
	}
}
