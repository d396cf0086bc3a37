package fakedb

import (
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/keyfill/keyfill/dialect"
)

// EngineAnswers returns a function that answers as an empty database of the engine
// does, for the statements of TestStatements.
func EngineAnswers(d *dialect.Dialect) func(query string) Reply {
	made := map[string]bool{}
	row := func(values ...driver.Value) Reply { return Reply{Rows: [][]driver.Value{values}} }
	return func(query string) Reply {
		has := func(parts ...string) bool {
			for _, part := range parts {
				if !strings.Contains(query, part) {
					return false
				}
			}
			return true
		}
		switch {
		case has("CREATE TABLE"):
			for _, table := range []string{"keyfill_sequences", "keyfill_workers", "keyfill_series"} {
				made["FROM "+table] = made["FROM "+table] || has("CREATE TABLE IF NOT EXISTS "+table) || has("CREATE TABLE "+table)
			}
			return Reply{}
		case has("SET autocommit"):
			return Reply{}
		case has("k.greatest"):
			switch {
			case !made["FROM keyfill_sequences"]:
				return Reply{Err: ErrRefused}
			case !made["sequence"]:
				return row([]byte("41"), int64(0), nil, nil, "server", nil, nil, nil, nil)
			}
			return row([]byte("41"), int64(0), int64(42), "made", "server", "sales.orders", "id", "", nil)
		case has("keyfill_series o WHERE 1 = 0"):
			if !made["FROM keyfill_series"] {
				return Reply{Err: ErrRefused}
			}
			return Reply{}
		case has("WHERE 1 = 0"):
			if !made[query[strings.Index(query, "FROM"):strings.Index(query, " WHERE")]] {
				return Reply{Err: ErrRefused}
			}
			return Reply{}
		case has("MIN(name)"):
			return row(nil)
		case has("MAX("):
			return row([]byte("41"))
		case has("INTO keyfill_sequences"):
			made["sequence"] = true
			return Reply{Affected: 1}
		case has("INTO keyfill_workers"):
			made["worker"] = true
			return Reply{Affected: 1}
		case has("parameters FROM keyfill_sequences"):
			if !made["sequence"] {
				return Reply{}
			}
			return row(int64(42), "made", "server", "sales.orders", "id", "")
		case has("UPDATE keyfill_sequences", "BETWEEN"):
			// The reply has a value for each way in which engines answer; the store reads only
			// the one that its engine uses.
			return Reply{Rows: [][]driver.Value{{int64(52), "made", "server"}}, Affected: 1, ID: 52,
				Out: []any{int64(52), "made", "server"}}
		case has("next_value, incarnation"):
			return row(int64(42), "made", "server")
		case has("UPDATE keyfill_sequences"):
			return Reply{Affected: 1}
		case has("UPDATE keyfill_workers"):
			if !made["worker"] {
				return Reply{}
			}
			return Reply{Rows: [][]driver.Value{{int64(1000)}}, Affected: 1, Out: []any{int64(1000)}}
		case has("reserved_until FROM"):
			if !made["worker"] {
				return Reply{}
			}
			return row(int64(1000))
		case strings.HasPrefix(query, "SELECT"), query == "COMMIT":
			return row("server")
		}
		return Reply{Err: errors.New("not expected: " + query)}
	}
}
