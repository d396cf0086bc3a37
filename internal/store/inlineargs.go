package store

import (
	"database/sql"
	"fmt"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/dbconn"
	"github.com/keyfill/keyfill/internal/drivers"
	"github.com/keyfill/keyfill/internal/store/engine"
)

// argWriter writes the arguments of a statement into its text. It returns the text, and
// nil, or the statement as it is if the arguments have to be bound.
type argWriter func(query string, args []any) (string, []any)

// toPrimary returns an argWriter that also lets proxies send queries to the primary; write
// if the dialect has no comment for that.
func toPrimary(d *dialect.Dialect, write argWriter) argWriter {
	if d.Latest.Primary == "" {
		return write
	}
	return func(query string, args []any) (string, []any) {
		if query = d.Latest.ToPrimary(query); write == nil {
			return query, args
		}
		return write(query, args)
	}
}

// writerFor returns the argWriter for connections of the store's pool; nil if the driver
// binds arguments in one round trip.
func writerFor(e *engine.Engine, db *sql.DB) argWriter {
	facts, _ := drivers.Of(db.Driver())
	switch {
	case e.BindsTexts:
		return written
	case facts.PreparesArguments:
		return dbconn.WriteDollar
	}
	return nil
}

// written writes the arguments of a statement of MySQL or MariaDB into its text, and
// returns the text and nil, so that the statement is one packet, whatever
// interpolateParams in the DSN is. It returns the statement unchanged if an argument is
// neither an integer nor a text, or if a name contains a question mark.
//
// A text argument is written in a form that means the same under every sql_mode and
// character set: in quotes if it is printable ASCII without quotes and backslashes,
// otherwise as the hexadecimal digits of its UTF-8.
func written(query string, args []any) (string, []any) {
	if len(args) == 0 || strings.Count(query, "?") != len(args) {
		return query, args
	}
	var b strings.Builder
	rest := query
	for _, arg := range args {
		before, after, _ := strings.Cut(rest, "?")
		b.WriteString(before)
		switch v := arg.(type) {
		case int64:
			b.WriteString(strconv.FormatInt(v, 10))
		case uint64:
			b.WriteString(strconv.FormatUint(v, 10))
		case string:
			if strings.ContainsFunc(v, func(r rune) bool { return r < ' ' || r > '~' || r == '\'' || r == '\\' }) {
				fmt.Fprintf(&b, "_utf8mb4 X'%x'", v)
			} else {
				b.WriteString("'" + v + "'")
			}
		case nil:
			b.WriteString("NULL")
		default:
			return query, args
		}
		rest = after
	}
	b.WriteString(rest)
	return b.String(), nil
}
