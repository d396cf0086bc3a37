package glob

import "slices"

// Index finds, among many names that may be globs, the ones that can match the same
// table as another name. It stores each name in the four forms that readings returns, so
// that names that differ before their first * need not be compared.
type Index [4]trie

// nameEnd is the symbol that readings puts after each part of a name. It is not a character
// of any name.
const nameEnd = anyChar - 1

// readings returns a name in four ways: the table before the schema, the schema before
// the table, and both of these with the characters of the first part reversed. Each
// ends before its first *. A part that is not given counts as *.
func readings(schema, table Pattern) (all [4][]rune) {
	var parts [2][]rune
	for i, p := range []Pattern{table, schema} {
		parts[i] = []rune{anyText}
		if p != (Pattern{}) {
			parts[i] = append(p.symbols(), nameEnd)
		}
	}
	for i := range all {
		first, second := parts[i%2], parts[1-i%2]
		if i >= 2 {
			first = slices.Clone(first)
			slices.Reverse(first)
		}
		all[i] = slices.Concat(first, second)
		if end := slices.Index(all[i], anyText); end >= 0 {
			all[i] = all[i][:end]
		}
	}
	return all
}

// Add adds a name under a number, which must be greater than the numbers of all names added
// before.
func (x *Index) Add(schema, table Pattern, number int) {
	for i, symbols := range readings(schema, table) {
		x[i].add(symbols, number)
	}
}

// Near returns the numbers of all names that can match a table that the given name matches,
// and perhaps the numbers of other names. Each of the lists is in ascending order.
func (x *Index) Near(schema, table Pattern) (fewest [][]int) {
	least := -1
	for i, symbols := range readings(schema, table) {
		lists, n := x[i].near(symbols, nil), 0
		for _, list := range lists {
			n += len(list)
		}
		if least < 0 || n < least {
			fewest, least = lists, n
		}
	}
	return fewest
}

// trie is a node of a trie, which holds the numbers of names under the characters
// of their readings.
type trie struct {
	symbol     rune
	below      []*trie
	all, ended []int // the numbers at this node and below it, and the numbers at this node alone
}

func (t *trie) add(symbols []rune, number int) {
	for _, s := range symbols {
		t.all = append(t.all, number)
		i := slices.IndexFunc(t.below, func(b *trie) bool { return b.symbol == s })
		if i < 0 {
			i = len(t.below)
			t.below = append(t.below, &trie{symbol: s})
		}
		t = t.below[i]
	}
	t.all, t.ended = append(t.all, number), append(t.ended, number)
}

// near appends to lists the numbers of the names whose reading agrees with symbols, up to
// the end of the shorter one of the reading and symbols.
func (t *trie) near(symbols []rune, lists [][]int) [][]int {
	if len(symbols) == 0 {
		return append(lists, t.all)
	}
	if len(t.ended) > 0 {
		lists = append(lists, t.ended)
	}
	for _, b := range t.below {
		if sameChar(b.symbol, symbols[0]) {
			lists = b.near(symbols[1:], lists)
		}
	}
	return lists
}
