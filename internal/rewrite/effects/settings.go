package effects

import (
	"math/bits"
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// TransactionOfAny returns the result of [TransactionOf] for a connection whose settings
// are not known. If the result depends on the settings, it is TxUnknown.
func TransactionOfAny(d *dialect.Dialect, query string) Transaction {
	tx := TransactionOf(d, query)
	for _, s := range OtherSettings(d, query) {
		if TransactionOf(d.With(s), query) != tx {
			return TxUnknown
		}
	}
	return tx
}

// TemporaryOfAny returns the names that [Temporary] returns under any of the settings that
// a session can have.
func TemporaryOfAny(d *dialect.Dialect, query string) []string {
	names := Temporary(d, query)
	for _, s := range OtherSettings(d, query) {
		names = append(names, Temporary(d.With(s), query)...)
	}
	return names
}

// OtherSettings returns the settings, besides the dialect's own, under which the text has
// other tokens and the engine may run it.
func OtherSettings(d *dialect.Dialect, query string) []dialect.Settings {
	others := d.Others(query)
	if len(others) == 0 || !tokensDiffer(d, others, query) {
		return nil
	}
	return slices.DeleteFunc(others, func(s dialect.Settings) bool { return Hopeless(d.With(s), query) })
}

// tokensDiffer reports whether one of the settings changes a token of the text. Each
// setting is tried alone: if none changes a token, all of them together do not either.
func tokensDiffer(d *dialect.Dialect, others []dialect.Settings, query string) bool {
	var alone [bits.UintSize]*dialect.Dialect
	n := 0
	for _, s := range others {
		if changed := s ^ d.Settings; bits.OnesCount16(uint16(changed&^dialect.ANSIQuotes)) <= 1 {
			alone[n] = d.With(s)
			n++
		}
	}
	s := scan.Scanner{Dialect: d, Text: query}
	for t := s.Next(); t.Kind != scan.End; t = s.Next() {
		switch t.Kind {
		case scan.Space, scan.Comment, scan.Number:
			continue
		case scan.Word:
			if query[t.End-1] < 0x80 {
				continue
			}
			// In some character sets of a client, the byte after the word may be part of
			// the name, so it is examined too.
		}
		if d.Setting.In(query[t.Start:min(t.End+1, len(query))]) == 0 {
			continue
		}
		if t.Kind == scan.Executable {
			return true // the content of the comment may differ
		}
		for _, other := range alone[:n] {
			o := scan.Scanner{Dialect: other, Text: query, Pos: t.Start}
			if o.Next() != t {
				return true
			}
		}
	}
	return false
}

// Hopeless reports whether the engine refuses the whole text, before it runs any statement
// of it, because one of its tokens is in no statement of the engine.
func Hopeless(d *dialect.Dialect, query string) bool {
	oneByOne := d.Setting != nil && d.Setting.OneByOne
	s := scan.Scanner{Dialect: d, Text: query}
	for {
		switch t := s.Next(); {
		case t.Kind == scan.Broken, t.Kind == scan.Punct && query[t.Start] == '\\':
			return true
		case t.Kind == scan.End, t.Kind == scan.Executable, oneByOne && t.Kind == scan.Punct && query[t.Start] == ';':
			return false
		}
	}
}
