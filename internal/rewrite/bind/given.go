package bind

import (
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// Given are the arguments of an execution.
type Given struct {
	List []driver.NamedValue
	at   map[string]int // the index of each named argument by its identity; nil if there are few arguments
}

// named returns the index of the argument for the placeholder with the identity, or -1 if
// no argument has it.
func (a *Given) named(d *dialect.Dialect, id string) int {
	if len(a.List) <= reader.FewNames {
		return slices.IndexFunc(a.List, func(v driver.NamedValue) bool { return scan.Identity(d, ":"+v.Name) == id })
	}
	if a.at == nil {
		a.at = make(map[string]int, len(a.List))
		for i := len(a.List) - 1; i >= 0; i-- { // backwards: of several arguments with one name the first counts
			a.at[scan.Identity(d, ":"+a.List[i].Name)] = i
		}
	}
	if i, ok := a.at[id]; ok {
		return i
	}
	return -1
}

// IndexOf returns the index of the caller's argument for a slot, which is the place of a
// key.
func IndexOf(pl *plans.Plan, s *plans.Slot, args *Given) (int, error) {
	at := int(s.Before)
	switch {
	case pl.Changes.Params.Styles&reader.StyleName != 0 && len(args.List) > 0 && args.List[0].Name != "":
		if at = args.named(pl.Dialect, scan.Identity(pl.Dialect, s.Text)); at < 0 {
			return 0, pl.Refused(rewrite.ErrNamed)
		}
	case pl.Changes.Params.Styles == reader.StyleNumber:
		at = scan.NumberOf(scan.Identity(pl.Dialect, s.Text)) - 1
	}
	if at < 0 || at >= len(args.List) {
		return 0, pl.Refused(rewrite.ErrArguments)
	}
	return at, nil
}
