package dialect

import (
	"strconv"
	"strings"
)

// Folding is how an engine compares identifiers.
type Folding uint8

// Fold returns the form of an identifier that is compared: two identifiers name the
// same thing if their folded forms are equal. name is without its quotes.
func (d *Dialect) Fold(name string, quoted bool) string {
	switch {
	case d.Folding == FoldCase:
		return strings.ToLower(name)
	case quoted:
		return name
	case d.Folding == FoldUpper:
		return strings.ToUpper(name)
	}
	return foldASCII(name)
}

// FoldTable returns the form in which the name of a table or schema is compared. It is the
// result of Fold unless the server compares such names exactly.
func (d *Dialect) FoldTable(name string, quoted bool) string {
	if d.ExactTables {
		return name
	}
	return d.Fold(name, quoted)
}

// Folds reports whether Fold(name, quoted) equals folded. It allocates nothing if the
// name is ASCII up to the first difference.
func (d *Dialect) Folds(name string, quoted bool, folded string) bool {
	if quoted && d.Folding != FoldCase {
		return name == folded
	}
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= 0x80:
			return d.Fold(name, quoted) == folded
		case d.Folding == FoldUpper && 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		case d.Folding != FoldUpper && 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		if i >= len(folded) || c != folded[i] {
			return false
		}
	}
	return len(name) == len(folded)
}

// foldASCII lowers ASCII letters only, as PostgreSQL does in a multi-byte
// encoding (downcase_identifier, src/backend/parser/scansup.c).
func foldASCII(s string) string {
	for i := range len(s) {
		if 'A' <= s[i] && s[i] <= 'Z' {
			b := []byte(s)
			for j := i; j < len(b); j++ {
				if 'A' <= b[j] && b[j] <= 'Z' {
					b[j] += 'a' - 'A'
				}
			}
			return string(b)
		}
	}
	return s
}

// QuoteIdent returns a folded identifier in the engine's quotes, so that reserved words
// and odd names are safe in a statement.
func (d *Dialect) QuoteIdent(name string) string {
	return string(d.AppendIdent(make([]byte, 0, len(name)+2), name))
}

// AppendIdent appends the result of QuoteIdent to b.
func (d *Dialect) AppendIdent(b []byte, name string) []byte {
	b = append(b, d.QuoteOpen)
	for i := range len(name) {
		if name[i] == d.QuoteClose {
			b = append(b, d.QuoteClose)
		}
		b = append(b, name[i])
	}
	return append(b, d.QuoteClose)
}

// Placeholder returns the placeholder of the n-th argument, counted from 1, of a statement
// that keyfill writes: "?", "$1", "@p1" or ":1".
func (d *Dialect) Placeholder(n int) string {
	switch {
	case d.Params.Question:
		return "?"
	case d.Params.Dollar:
		return "$" + strconv.Itoa(n)
	case d.Params.AtNumber:
		return "@p" + strconv.Itoa(n)
	}
	return ":" + strconv.Itoa(n)
}
