package trial

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/judge/tree"
)

// SQLite treats $1 as a name. One driver finds the argument of $1 by the digits, another
// driver by the place where the name is first used in the text. A fill may change the
// caller's numbers: then each driver has to find the same arguments as before.

var dollarNumber = regexp.MustCompile(`^\$[0-9]+$`)

// dollars are the placeholders of a text that has only placeholders $n.
type dollars struct {
	nodes  []*tree.Node // the placeholders in the order of the text
	digits []int        // for each placeholder the number of its argument, by the digits
	first  []int        // for each placeholder the number of its argument, by the first use of its name
	twice  bool         // whether one number has two spellings, such as $1 and $01
}

// dollarsOf returns the placeholders of a text; false if it has other placeholders than $n,
// or none.
func dollarsOf(t *tree.Text) (d dollars, ok bool) {
	ok = true
	for _, s := range t.Statements {
		s.Walk(func(n *tree.Node) {
			if n.Leaf == tree.Placeholder {
				d.nodes = append(d.nodes, n)
				ok = ok && dollarNumber.MatchString(n.Label)
			}
		})
	}
	if !ok || len(d.nodes) == 0 {
		return d, false
	}
	slices.SortFunc(d.nodes, func(a, b *tree.Node) int { return a.Ordinal - b.Ordinal })
	var names []string
	spelled := map[int]string{}
	for _, n := range d.nodes {
		number, err := strconv.Atoi(strings.TrimPrefix(n.Label, "$"))
		if err != nil {
			return d, false
		}
		if !slices.Contains(names, n.Label) {
			names = append(names, n.Label)
		}
		d.digits = append(d.digits, number)
		d.first = append(d.first, slices.Index(names, n.Label)+1)
		d.twice = d.twice || spelled[number] != "" && spelled[number] != n.Label
		spelled[number] = n.Label
	}
	return d, true
}

// original gives the placeholders of out, the filled text, the names that they have in the
// text in, and gives the keys' placeholders names that in does not have: ?n. The error
// names a placeholder that gets an argument other than before.
func original(in, out *tree.Text, ex *explain.Explanation) error {
	a, ok := dollarsOf(in)
	if !ok || ex.Literal || len(ex.Slots) == 0 {
		return nil
	}
	b, ok := dollarsOf(out)
	if !ok {
		return fmt.Errorf("the key's placeholder is not spelled as the caller's are")
	}
	isKey := map[int]bool{}
	for _, s := range ex.Slots {
		isKey[s.Arg] = true
	}
	agreed := slices.Equal(a.digits, a.first)
	if agreed && !slices.Equal(b.digits, b.first) {
		return fmt.Errorf("the drivers do not agree on the arguments any more")
	}
	highest := placeOf(slices.Max(a.digits), isKey)
	next := 0
	for i, n := range b.nodes {
		switch number := b.digits[i]; {
		case isKey[number]:
			if !agreed && !a.twice && b.first[i] != number {
				return fmt.Errorf("by its first use %s gets no key", n.Label)
			}
			n.Label = fmt.Sprint("?", number)
			continue
		case next == len(a.nodes):
			return fmt.Errorf("%s is neither the caller's nor a key", n.Label)
		case number > highest:
			// The number is above all numbers of the caller and is not a key's alone: the
			// comparison decides whether it may be here.
		case number != placeOf(a.digits[next], isKey):
			return fmt.Errorf("%s became %s, which is another argument", a.nodes[next].Label, n.Label)
		case !agreed && !a.twice && b.first[i] != placeOf(a.first[next], isKey):
			return fmt.Errorf("by its first use %s gets another argument", n.Label)
		default:
			n.Label = a.nodes[next].Label
		}
		next++
	}
	if next < len(a.nodes) {
		return fmt.Errorf("%s went", a.nodes[next].Label)
	}
	return nil
}

// placeOf returns the place that an argument of the caller has among all arguments, the
// keys included.
func placeOf(argument int, isKey map[int]bool) int {
	place := 0
	for ; argument > 0; argument-- {
		for place++; isKey[place]; place++ {
		}
	}
	return place
}
