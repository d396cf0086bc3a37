package joined_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// TestPeriodRolledBack: a process that has drawn the first number of a period and was rolled
// back goes on with the template of the process that has drawn it meanwhile, whether or not it
// knows the template of a committed number.
func TestPeriodRolledBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, periodEngines, func(t *testing.T, s *harness.Scratch) {
		p := periodsOf(t, s)
		a, b := p.numbering(t, "A-{year}-{n:05}"), p.numbering(t, "B-{year}-{n:05}")
		one, given := p.session(t), year(t, a, "2026")
		template := func(want, got string) {
			t.Helper()
			if got != want {
				t.Errorf("the template is %q, want %q", got, want)
			}
		}
		for range 2 {
			one.exec("BEGIN")
			template(a.Periods.Template, one.want(a, given, 1, 1).Template)
			template(a.Periods.Template, one.want(a, given, 2, 2).Template)
			one.exec("ROLLBACK")
		}
		one.exec("BEGIN")
		template(b.Periods.Template, one.want(b, given, 1, 1).Template)
		one.exec("COMMIT", "BEGIN")
		template(b.Periods.Template, one.want(a, given, 1, 2).Template)
		template(b.Periods.Template, one.want(a, given, 3, 3).Template)
		one.exec("COMMIT")
		if got, want := p.rows(t, a), "[2026]=6 B-{year}-{n:05}"; got != want && got != want+", [2027]=1" {
			t.Errorf("the rows are %s, want %s", got, want)
		}
	})
}
