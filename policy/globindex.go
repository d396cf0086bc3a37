package policy

import "slices"

// globIndex narrows down which of many names may stand for a table that another name
// stands for too. It reads each of them in the four ways of readings, from which names
// that differ before their first * need not be compared.
type globIndex [4]globTrie

// nameEnd follows each part of a name, and is a character of none.
const nameEnd = anyChar - 1

// readings returns a name in four ways, each up to the first *: its table before its
// schema and after it, and from the front and from the back the one that is before. A part
// that is not given stands for any text.
func readings(schema, table pattern) (all [4][]rune) {
	var parts [2][]rune
	for i, p := range []pattern{table, schema} {
		parts[i] = []rune{anyText}
		if p != (pattern{}) {
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

// add adds a name by its number, which is greater than those before it.
func (x *globIndex) add(schema, table pattern, number int) {
	for i, symbols := range readings(schema, table) {
		x[i].add(symbols, number)
	}
}

// near returns the numbers of all names that may stand for a table that the given one
// stands for, and of others, in lists of which each is ascending.
func (x *globIndex) near(schema, table pattern) (fewest [][]int) {
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

// globTrie holds numbers by the characters that lead to them.
type globTrie struct {
	symbol     rune
	below      []*globTrie
	all, ended []int // the numbers that are here or below, and those that are here
}

func (t *globTrie) add(symbols []rune, number int) {
	for _, s := range symbols {
		t.all = append(t.all, number)
		i := slices.IndexFunc(t.below, func(b *globTrie) bool { return b.symbol == s })
		if i < 0 {
			i = len(t.below)
			t.below = append(t.below, &globTrie{symbol: s})
		}
		t = t.below[i]
	}
	t.all, t.ended = append(t.all, number), append(t.ended, number)
}

// near adds to lists the numbers whose characters are equal to symbols as far as both go.
func (t *globTrie) near(symbols []rune, lists [][]int) [][]int {
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
