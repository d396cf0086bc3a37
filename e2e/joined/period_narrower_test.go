package joined_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestPeriodNarrower: a period goes on with its own template although the policy's new one has
// fewer digits, another alphabet or a lower max_length, and the new one begins with the next
// period. The digits of the period's own template are the limit.
func TestPeriodNarrower(t *testing.T) {
	t.Parallel()
	harness.Each(t, crowdEngines, func(t *testing.T, s *harness.Scratch) {
		for _, mode := range []func(*policy.Source){func(*policy.Source) {}, func(src *policy.Source) { src.Transaction, src.Block = "", 1 }} {
			createInvoices(t, s)
			insert := func(date, format string, bound func(*policy.Source)) error {
				t.Helper()
				db, _ := s.OpenWith(t, keyfill.Options{Policy: invoices(func(src *policy.Source) {
					src.Format, src.Period.Column = format, "issued_on"
					mode(src)
					if bound != nil {
						bound(src)
					}
				})})
				_, err := db.Exec("INSERT INTO invoices (issued_on) VALUES ('" + date + "')")
				return err
			}
			stored := func(want ...string) {
				t.Helper()
				if got := harness.KeysOf(t, s.Raw, t.Context(), "SELECT number FROM invoices ORDER BY number"); !slices.Equal(got, want) {
					t.Errorf("stored is %q, want %q", got, want)
				}
			}
			next := func(n string) {
				t.Helper()
				harness.Exec(t, s.Raw, "UPDATE keyfill_sequences SET next_value = "+n+" WHERE name LIKE '%[2026]'")
			}
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Error(err)
				}
			}
			must(insert("2026-05-01", "A-{year}-{n:05}", nil))
			next("1200")
			must(insert("2026-05-01", "B{year}{n:03}", nil))
			must(insert("2026-05-01", "C{year}{n:04}", func(src *policy.Source) { src.Alphabet = "A-Z0-9" }))
			must(insert("2026-05-01", "D{yy}{n:04}", func(src *policy.Source) { src.MaxLength = 7 }))
			must(insert("2027-05-01", "B{year}{n:03}", nil))
			stored("A-2026-00001", "A-2026-01200", "A-2026-01201", "A-2026-01202", "B2027001")
			next("99999")
			must(insert("2026-05-01", "B{year}{n:03}", nil))
			if err := insert("2026-05-01", "B{year}{n:03}", nil); !errors.Is(err, keysource.ErrExhausted) || !strings.Contains(err.Error(), "up to the limit of 99999") {
				t.Errorf("after the last number of the period's template: %v", err)
			}
			stored("A-2026-00001", "A-2026-01200", "A-2026-01201", "A-2026-01202", "A-2026-99999", "B2027001")
			harness.Exec(t, s.Raw, "DROP TABLE invoices")
			_, _ = s.Raw.Exec("DELETE FROM keyfill_sequences")
		}
	})
}
