package check

import (
	"context"
	"fmt"
	"time"

	"github.com/keyfill/keyfill/internal/keys"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/scope"
)

// outgrowing returns, from f, a finding for each numbering of the period in which the clock
// stands whose numbers outgrow their width before its end, at the pace since it began.
func outgrowing(ctx context.Context, home *store.Store, st *keys.State, now time.Time, f Finding) (all []Finding) {
	if st.Scope == nil || st.Scope.Periods == nil {
		return nil
	}
	f.Severity, f.Rule, f.Remedy = Warning, ruleRunsOut, "in the policy: more digits for {n} in format, from the next period on"
	// Ignore the error: the look at the state has reported it.
	_ = scope.New(home, st.Scope).EachPeriod(ctx, func(r scope.PeriodRow) error {
		if !r.Period.Has(now) || r.Closed || r.Next < 2 {
			return nil
		}
		used, last := float64(r.Next-1), float64(st.Scope.Max)
		pace := used / max(now.Sub(r.Period.Begin).Hours(), 1)
		ends := now.Add(time.Duration(min((last-used)/pace, 1e5) * float64(time.Hour)))
		if ends.Before(r.Period.End) {
			f.Message = fmt.Sprintf("at the pace of this period, %s, its numbers outgrow their width on %s: %.0f%% are used", r.Period.Name, ends.Format(time.DateOnly), 100*used/last)
			all = append(all, f)
		}
		return nil
	})
	return all
}
