package store

import (
	"strconv"
	"strings"
)

// seriesWords holds the words that differ between the engines in statements
// about series.
type seriesWords struct {
	later  string // the server's time in as many milliseconds as the parameter says
	past   string // a time before all others
	hint   string // follows the table that is changed
	digits string // a function that makes a text of an integer, where drivers differ in what they make of one; "" for none
	mark   string // begins a placeholder; a number follows unless it is "?"
	number string // a placeholder for an integer, where its type has to be said; "" for the plain one
}

// seriesTexts are the statements about series, all of which every engine has,
// but for the words. {name} stands for a parameter, [[x]] for an integer that is
// read.
//
// None of them answers: the owner of a row is the only one who changes it, and
// reads it by itself.
const (
	// A series that belongs to the owner.
	seriesOwn = "SELECT [[MIN(series_first)]] FROM keyfill_series WHERE name = {name} AND owner = {owner}"
	seriesRow = "SELECT [[series_last]], [[next_value]], owner, [[epoch]] FROM keyfill_series WHERE name = {name} AND series_first = {first}"

	// The lease has run out when its end has passed: strictly, since the holder
	// may count on it to the end.
	seriesFree = "SELECT [[MIN(series_first)]] FROM keyfill_series WHERE name = {name} AND leased_until < {now} AND next_value <= series_last - {more}"
	// Those of them from one on, and the last one.
	seriesFreeFrom = "SELECT [[MIN(series_first)]] FROM keyfill_series WHERE name = {name} AND leased_until < {now} AND next_value <= series_last - {more} AND series_first >= {from}"
	seriesFreeLast = "SELECT [[MAX(series_first)]] FROM keyfill_series WHERE name = {name} AND leased_until < {now} AND next_value <= series_last - {more}"

	seriesSpent = "SELECT [[MIN(series_first)]] FROM keyfill_series WHERE name = {name} AND leased_until < {now} AND next_value > series_last"

	seriesMake = `INSERT INTO keyfill_series (name, series_first, series_last, next_value, owner, epoch, leased_until, updated_at)
VALUES ({name}, {first}, {last}, {next}, {owner}, 1, {later}, {now})`

	seriesTake = `UPDATE keyfill_series{hint}
SET owner = {owner}, epoch = epoch + 1, leased_until = {later}, updated_at = {now}
WHERE name = {name} AND series_first = {first} AND leased_until < {now} AND next_value <= series_last - {more}`

	seriesMove = `UPDATE keyfill_series{hint}
SET next_value = {to}, leased_until = {later}, updated_at = {now}
WHERE name = {name} AND series_first = {first} AND owner = {owner} AND epoch = {epoch} AND next_value = {next}`

	seriesGiveUp = `UPDATE keyfill_series{hint}
SET next_value = {to}, owner = '', leased_until = {past}, updated_at = {now}
WHERE name = {name} AND series_first = {first} AND owner = {owner} AND epoch = {epoch} AND next_value = {next}`

	// Where the row stands elsewhere: an answer was lost.
	seriesLeave = `UPDATE keyfill_series{hint}
SET owner = '', leased_until = {past}, updated_at = {now}
WHERE name = {name} AND series_first = {first} AND owner = {owner} AND epoch = {epoch}`

	seriesEnd = `DELETE FROM keyfill_series{hint}
WHERE name = {name} AND series_first = {first} AND owner = {owner} AND epoch = {epoch} AND next_value = {next}`

	seriesSweep = `DELETE FROM keyfill_series{hint}
WHERE name = {name} AND series_first = {first} AND leased_until < {now} AND next_value > series_last`
)

// seriesValues holds the arguments by the names of their parameters.
type seriesValues map[string]any

// seriesText returns a statement in the words of the engine, and its arguments.
func (e *engine) seriesText(text string, v seriesValues) (query string, args []any) {
	w := &e.series
	open, end := "", ""
	if w.digits != "" {
		open, end = w.digits+"(", ")"
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "[[", open), "]]", end)
	var b strings.Builder
	parameter := func(name string) {
		args = append(args, v[name])
		b.WriteString(w.placeholder(len(args)))
	}
	for {
		before, rest, found := strings.Cut(text, "{")
		b.WriteString(before)
		if !found {
			return b.String(), args
		}
		name, after, _ := strings.Cut(rest, "}")
		switch name {
		case "hint":
			b.WriteString(w.hint)
		case "past":
			b.WriteString(w.past)
		case "now":
			b.WriteString(e.now)
		case "later":
			before, after, _ := strings.Cut(w.later, "{later}")
			b.WriteString(before)
			parameter(name)
			b.WriteString(after)
		default:
			parameter(name)
		}
		text = after
	}
}

func (w *seriesWords) placeholder(n int) string {
	if w.mark == "?" {
		return w.mark
	}
	return w.mark + strconv.Itoa(n)
}
