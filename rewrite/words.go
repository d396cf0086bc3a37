package rewrite

import "github.com/keyfill/keyfill/dialect"

// Concerns reports whether the query has a word that can begin a form of
// INSERT in the dialect. A query without any is passed without a scan; one
// with a word, be it in a string, is left to [Compile]. It allocates nothing.
func Concerns(d *dialect.Dialect, query string) bool {
	g := &d.Grammar
	var before byte = ' '
	for i := 0; i+4 <= len(query); i++ {
		c := query[i]
		// A digit may stand before a word: /*!50000INSERT is code.
		if starts[c] && classes[before]&classLetter == 0 {
			rest := query[i:]
			switch c | 0x20 {
			case 'i':
				if prefixFold(rest, "insert") {
					return true
				}
			case 'r':
				if g.Replace && prefixFold(rest, "replace") {
					return true
				}
			case 'm':
				if g.Merge && prefixFold(rest, "merge") {
					return true
				}
			case 'c':
				if g.Copy && prefixFold(rest, "copy") {
					return true
				}
			case 'l':
				if g.Load && prefixFold(rest, "load") {
					return true
				}
			}
		}
		before = c
	}
	return false
}

var starts = func() (t [256]bool) {
	for _, c := range "iIrRmMcClL" {
		t[c] = true
	}
	return t
}()

// prefixFold reports whether text begins with the word, which is in lower
// case, in any case.
func prefixFold(text, word string) bool {
	return len(text) >= len(word) && equalWord(text[:len(word)], word)
}
