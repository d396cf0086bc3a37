package simdb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// call parses the arguments of a function, after the opening bracket, and returns its
// value.
func (p *parser) call(name string) expr {
	args := p.list()
	first := func(e *env) any { return args[0](e) }
	switch name {
	case "clock_timestamp", "utc_timestamp":
		return func(e *env) any { return e.now() }
	case clientTime:
		return func(e *env) any { return e.client }
	case seriesEnd:
		return func(e *env) any { return e.seriesEnd() }
	case serverName:
		return func(e *env) any { return e.tx.Server() }
	case "strftime":
		return func(e *env) any { return sqliteTime(e, args) }
	case "greatest", "max":
		return func(e *env) any {
			values := make([]any, len(args))
			for i, a := range args {
				values[i] = a(e)
			}
			return slices.MaxFunc(values, func(a, b any) int { order, _ := compare(a, b); return order })
		}
	case "last_insert_id":
		return func(e *env) any {
			v := first(e)
			e.lastID = v.(int64)
			return v
		}
	case "typeof":
		return func(e *env) any {
			if _, ok := first(e).(int64); ok {
				return "integer"
			}
			return "text"
		}
	case "lower":
		return first
	case "md5", "uuid", "hex":
		return func(e *env) any { return e.made() }
	case "current_database", "database":
		return constant("main", nil)
	case "random", "randomblob":
		return constant("", nil)
	case "row_security_active":
		return constant(false, nil)
	}
	panic(fmt.Sprintf("simdb: an unknown function %q in\n%s", name, p.text))
}

// sqliteTime evaluates strftime for the present time, to which a number of seconds may be
// added.
func sqliteTime(e *env, args []expr) any {
	if args[0](e) != "%Y-%m-%dT%H:%M:%fZ" || args[1](e) != "now" {
		panic("simdb: an unknown form of strftime")
	}
	if len(args) == 2 {
		return e.now()
	}
	text, _ := strings.CutSuffix(args[2](e).(string), " seconds")
	seconds, err := strconv.ParseFloat(text, 64)
	if err != nil {
		panic(err)
	}
	return e.now().Add(time.Duration(seconds * float64(time.Second)).Round(time.Millisecond))
}
