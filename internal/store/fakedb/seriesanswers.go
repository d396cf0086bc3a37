package fakedb

import (
	"database/sql/driver"
	"strings"
)

// SeriesAnswers answers as a database with one series of integers does, which belongs
// to owner "me" and begins at 1,000,001. own, Spent and Free are the answers to the
// queries for series with a MIN.
type SeriesAnswers struct {
	own, Spent, Free any
	Misses           int // how many UPDATEs are still to find no row
	Made             bool
	counted          bool
}

// Answer returns the reply to a statement.
func (a *SeriesAnswers) Answer(query string) Reply {
	has := func(part string) bool { return strings.Contains(query, part) }
	row := func(values ...driver.Value) Reply { return Reply{Rows: [][]driver.Value{values}} }
	switch {
	case has("WHERE 1 = 0"), has("SET autocommit"), query == "BEGIN", query == "COMMIT":
		return Reply{}
	case has("MAX(series_first)"):
		return row(a.Free)
	case has("MAX("):
		return row([]byte("41"))
	case has("MIN(name)"):
		return row(nil)
	case has("MIN(series_first)") && has("owner ="):
		return row(a.own)
	case has("MIN(series_first)") && has("> series_last"):
		return row(a.Spent)
	case has("MIN(series_first)"):
		return row(a.Free)
	case has("FROM keyfill_series") && has("series_last") && strings.HasPrefix(query, "SELECT"):
		if !a.Made {
			return Reply{}
		}
		return row(int64(2_000_000), int64(1_000_101), "me", int64(1))
	case has("parameters FROM keyfill_sequences"):
		if !a.counted {
			return Reply{}
		}
		return row(int64(1_000_001), "made", "server", "sales.orders", "id", "series=1000000")
	case has("INTO keyfill_sequences"):
		a.counted = true
		return Reply{Affected: 1}
	case has("UPDATE keyfill_sequences") && has("BETWEEN"):
		return Reply{Rows: [][]driver.Value{{int64(2_000_001), "made", "server"}}, Affected: 1, ID: 2_000_001,
			Out: []any{int64(2_000_001), "made", "server"}}
	case has("next_value, incarnation"):
		return row(int64(1_000_001), "made", "server")
	case has("INTO keyfill_series"):
		a.Made = true
		return Reply{Affected: 1}
	case has("keyfill_series"):
		if a.Misses > 0 {
			a.Misses--
			return Reply{Affected: 0}
		}
		return Reply{Affected: 1}
	case strings.HasPrefix(query, "UPDATE keyfill_sequences"):
		return Reply{Affected: 1}
	}
	return row("server")
}
