package draft

import (
	"fmt"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/catalog"
)

// decideSeveral decides about a table whose primary key has several columns.
func (x *decider) decideSeveral(i *item) {
	t := i.found
	var own []*catalog.Column // the columns of the key that refer to no other table
	var parents []string
	for _, name := range t.Primary {
		col := columnOf(t, name)
		if col == nil {
			i.say("Its key has %s, which is no column that an INSERT names.", shown(name))
			return
		}
		if refers := x.over.Parents(t, name); len(refers) > 0 {
			if parent := shownTable(refers[0]); !slices.Contains(parents, parent) {
				parents = append(parents, parent)
			}
			continue
		}
		if col.Identity != "" {
			x.decideNumbered(i, col)
			return
		}
		own = append(own, col)
	}
	key := "(" + shown(strings.Join(t.Primary, ", ")) + ")"
	if len(own) == 0 {
		i.verdict = empty
		i.say("Its key %s is made of keys of %s.", key, strings.Join(parents, " and "))
		return
	}
	if col := x.surrogate(t, own); col != nil {
		if x.decideColumn(i, col.Name, false); i.verdict == filled && !isBareKeyName(col.Name) {
			i.verdict, i.why = undecided, nil
			i.say("%s may be new for each row. Its key %s has other columns too, so that it may also be the key of something else.", shown(col.Name), key)
		}
		return
	}
	if len(own) == 1 && isCountName(own[0].Name) && own[0].Integer && !own[0].Text {
		x.proposeScope(i, own[0])
	}
	if i.column == "" {
		i.verdict = empty
		if len(parents) > 0 || !slices.ContainsFunc(own, func(c *catalog.Column) bool { return c.UUID }) {
			i.say("The application brings its key %s.", key)
			return
		}
		i.verdict = undecided
		i.say("Which column of its key %s is new for each row is not known.", key)
		return
	}
	i.say("%s may count the rows of the other columns of its key %s, from 1. Today the application brings it.", shown(own[0].Name), key)
}

// surrogate returns the column of a key that has a usual name for a key without a meaning.
// It returns nil if no column, or more than one, has such a name.
func (x *decider) surrogate(t *catalog.Listed, own []*catalog.Column) (found *catalog.Column) {
	for _, col := range own {
		if !IsKeyName(t.Name, col.Name) {
			continue
		}
		if found != nil {
			return nil
		}
		found = col
	}
	return found
}

// isCountName reports whether a column has a usual name for a number within something, such
// as line_no.
func isCountName(column string) bool {
	name := strings.ToLower(column)
	for _, word := range []string{"n", "no", "nr", "num", "number", "line", "pos", "position", "seq", "sequence", "idx", "index", "ordinal", "rank", "version", "revision"} {
		if name == word || strings.HasSuffix(name, "_"+word) || strings.HasPrefix(name, word+"_") {
			return true
		}
	}
	return false
}

// proposeScope sets the item's line to a source that numbers a column within the other
// columns of its key, if the types of those columns allow it.
func (x *decider) proposeScope(i *item, col *catalog.Column) {
	var scope []string
	for _, name := range i.found.Primary {
		other := columnOf(i.found, name)
		if other == col {
			continue
		}
		written := catalog.YAMLString(catalog.PolicyColumn(x.d, name))
		switch {
		case other.Integer && !other.Text:
		case (other.Text || other.UUID) && !mixesCases(x.d, other):
			written = fmt.Sprintf("{column: %s, type: text}", written)
		default:
			return
		}
		scope = append(scope, written)
	}
	fit, ok := integerFit(col.Bits)
	if !ok {
		return
	}
	bits := strings.TrimSuffix(fit.Rest, sequence)
	i.column = catalog.PolicyColumn(x.d, col.Name)
	i.rest = fmt.Sprintf("%s, source: {kind: sequence, scope: [%s], ensure_schema: true}", bits, strings.Join(scope, ", "))
}
