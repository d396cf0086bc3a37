package engine

import (
	"strconv"
	"strings"
)

// SeriesWords holds the words that differ between the engines in statements about
// series (runs of integers that one process owns).
type SeriesWords struct {
	Later  string // the server's time plus as many milliseconds as the parameter says
	Past   string // a time in the distant past
	Hint   string // follows the name of the table that is changed
	Digits string // a function that converts an integer to text, if drivers return it in different types; may be empty
	Mark   string // begins a placeholder; a number follows unless it is "?"
	Number string // the format of an integer's placeholder, if its type has to be given; empty for the plain placeholder
}

// The texts below are the statements about series (runs of integers that one process
// owns). Every engine has all of them, in its own words. {name} stands for a parameter,
// [[x]] for an integer that is read.
//
// The statements that change a row return no values: only the owner of a row changes
// it, and the owner reads it with another statement.
const (
	// SeriesOwn selects the first integer of the lowest series of integers that belongs to
	// the owner.
	SeriesOwn = "SELECT [[MIN(series_first)]] FROM keyfill_series WHERE name = {name} AND owner = {owner}"
	SeriesRow = "SELECT [[series_last]], [[next_value]], owner, [[epoch]] FROM keyfill_series WHERE name = {name} AND series_first = {first}"

	// SeriesFree selects the lowest series of integers whose lease has expired and that
	// has integers left. The comparison of times is strict, since the owner may use the
	// lease to its end.
	SeriesFree = "SELECT [[MIN(series_first)]] FROM keyfill_series WHERE name = {name} AND leased_until < {now} AND next_value <= series_last - {more}"
	// SeriesFreeFrom selects the lowest series that can be taken over (its lease has
	// expired, and integers are left) and begins at {from} or above. SeriesFreeLast selects
	// the highest one that can be taken over.
	SeriesFreeFrom = "SELECT [[MIN(series_first)]] FROM keyfill_series WHERE name = {name} AND leased_until < {now} AND next_value <= series_last - {more} AND series_first >= {from}"
	SeriesFreeLast = "SELECT [[MAX(series_first)]] FROM keyfill_series WHERE name = {name} AND leased_until < {now} AND next_value <= series_last - {more}"

	SeriesSpent = "SELECT [[MIN(series_first)]] FROM keyfill_series WHERE name = {name} AND leased_until < {now} AND next_value > series_last"

	SeriesMake = `INSERT INTO keyfill_series (name, series_first, series_last, next_value, owner, epoch, leased_until, updated_at)
VALUES ({name}, {first}, {last}, {next}, {owner}, 1, {later}, {now})`

	SeriesTake = `UPDATE keyfill_series{hint}
SET owner = {owner}, epoch = epoch + 1, leased_until = {later}, updated_at = {now}
WHERE name = {name} AND series_first = {first} AND leased_until < {now} AND next_value <= series_last - {more}`

	SeriesMove = `UPDATE keyfill_series{hint}
SET next_value = {to}, leased_until = {later}, updated_at = {now}
WHERE name = {name} AND series_first = {first} AND owner = {owner} AND epoch = {epoch} AND next_value = {next}`

	SeriesGiveUp = `UPDATE keyfill_series{hint}
SET next_value = {to}, owner = '', leased_until = {past}, updated_at = {now}
WHERE name = {name} AND series_first = {first} AND owner = {owner} AND epoch = {epoch} AND next_value = {next}`

	// SeriesLeave gives up a series of integers whose next_value may differ from what the
	// owner knows, because an answer was lost.
	SeriesLeave = `UPDATE keyfill_series{hint}
SET owner = '', leased_until = {past}, updated_at = {now}
WHERE name = {name} AND series_first = {first} AND owner = {owner} AND epoch = {epoch}`

	SeriesEnd = `DELETE FROM keyfill_series{hint}
WHERE name = {name} AND series_first = {first} AND owner = {owner} AND epoch = {epoch} AND next_value = {next}`

	SeriesSweep = `DELETE FROM keyfill_series{hint}
WHERE name = {name} AND series_first = {first} AND leased_until < {now} AND next_value > series_last`
)

// SeriesValues holds the arguments of a statement by the names of their parameters.
type SeriesValues map[string]any

// SeriesText returns a statement about series (ranges of integers), such as [SeriesOwn], in
// the words of the engine, and its arguments.
func (e *Engine) SeriesText(text string, v SeriesValues) (query string, args []any) {
	w := &e.Series
	open, end := "", ""
	if w.Digits != "" {
		open, end = w.Digits+"(", ")"
	}
	text = strings.ReplaceAll(strings.ReplaceAll(text, "[[", open), "]]", end)
	var b strings.Builder
	parameter := func(name string) {
		args = append(args, v[name])
		b.WriteString(w.Placeholder(len(args)))
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
			b.WriteString(w.Hint)
		case "past":
			b.WriteString(w.Past)
		case "now":
			b.WriteString(e.Expressions.Now)
		case "later":
			before, after, _ := strings.Cut(w.Later, "{later}")
			b.WriteString(before)
			parameter(name)
			b.WriteString(after)
		default:
			parameter(name)
		}
		text = after
	}
}

// Placeholder returns the n-th placeholder of a statement, counted from 1.
func (w *SeriesWords) Placeholder(n int) string {
	if w.Mark == "?" {
		return w.Mark
	}
	return w.Mark + strconv.Itoa(n)
}
