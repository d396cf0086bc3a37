package rewrite

import (
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

// arguments are the arguments of an execution.
type arguments struct {
	list []driver.NamedValue
	at   map[string]int // the indexes of named ones by the identity of their names, if there are many
}

// named returns the index of the argument of the placeholder with the identity, -1 for none.
func (a *arguments) named(d *dialect.Dialect, id string) int {
	if len(a.list) <= fewNames {
		return slices.IndexFunc(a.list, func(v driver.NamedValue) bool { return identity(d, ":"+v.Name) == id })
	}
	if a.at == nil {
		a.at = make(map[string]int, len(a.list))
		for i := len(a.list) - 1; i >= 0; i-- { // the first one of a name counts
			a.at[identity(d, ":"+a.list[i].Name)] = i
		}
	}
	if i, ok := a.at[id]; ok {
		return i
	}
	return -1
}

// argument returns the index of the caller's argument for a slot.
func (pl *Plan) argument(s *slot, args *arguments) (int, error) {
	at := int(s.before)
	switch {
	case pl.params.styles&styleName != 0 && len(args.list) > 0 && args.list[0].Name != "":
		if at = args.named(pl.Dialect, identity(pl.Dialect, s.text)); at < 0 {
			return 0, pl.Refused(ErrNamed)
		}
	case pl.params.styles == styleNumber:
		at = numberOf(identity(pl.Dialect, s.text)) - 1
	}
	if at < 0 || at >= len(args.list) {
		return 0, pl.Refused(ErrArguments)
	}
	return at, nil
}
