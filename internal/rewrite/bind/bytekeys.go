package bind

import (
	"database/sql/driver"
	"slices"

	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// writeByteKeys writes the keys that are bytes, and that replace arguments of the caller,
// as hexadecimal literals into the text, and returns the remaining arguments. A server may
// convert the characters of an argument, as MySQL does if character_set_client is not
// character_set_connection, but never a hexadecimal literal.
func writeByteKeys(pl *plans.Plan, text string, args []driver.NamedValue, keys [][]driver.Value) (string, []driver.NamedValue) {
	drawn := drawnBytesOf(keys)
	if pl.Changes.Spelling.Style&reader.StylePosition == 0 || !slices.ContainsFunc(args, func(a driver.NamedValue) bool { return drawn.has(a.Value) }) {
		return text, args
	}
	left := make([]driver.NamedValue, 0, len(args))
	b := make([]byte, 0, len(text)+32*len(args))
	s := scan.Scanner{Dialect: pl.Dialect, Text: text}
	n := 0 // how many placeholders are read
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		switch {
		case t.Kind != scan.Placeholder || n == len(args):
			b = append(b, text[t.Start:t.End]...)
			continue
		case drawn.has(args[n].Value):
			b = pl.Dialect.AppendLiteral(b, args[n].Value)
		default:
			b = append(b, text[t.Start:t.End]...)
			left = append(left, driver.NamedValue{Ordinal: len(left) + 1, Value: args[n].Value})
		}
		n++
	}
	if n != len(args) || args[0].Name != "" {
		return text, args
	}
	return string(b), left
}

// drawnBytes is the set of keys that are bytes, by the address of their first byte.
type drawnBytes map[*byte]bool

// drawnBytesOf returns the set of the keys that are bytes.
func drawnBytesOf(keys [][]driver.Value) drawnBytes {
	all := drawnBytes{}
	for _, drawn := range keys {
		for _, key := range drawn {
			if b, ok := key.([]byte); ok && len(b) > 0 {
				all[&b[0]] = true
			}
		}
	}
	return all
}

// has reports whether a value is one of the keys itself. A copy of a key does not count.
func (d drawnBytes) has(value driver.Value) bool {
	b, ok := value.([]byte)
	return ok && len(b) > 0 && d[&b[0]]
}
