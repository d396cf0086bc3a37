package check

import (
	"fmt"
	"strconv"
	"time"
)

// text returns the first value of a query as text, empty for NULL and if there is no row.
func (c *checker) text(query string, args ...any) (string, error) {
	row, err := c.row(query, args...)
	if err != nil || len(row) == 0 {
		return "", err
	}
	return textOf(row[0]), nil
}

// row returns the first row of a query, nil if there is none.
func (c *checker) row(query string, args ...any) ([]any, error) {
	rows, err := c.q.Rows(c.ctx, query, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// textOf returns a value as text, whichever type the driver gave it.
func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case []byte:
		return string(v)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return v.UTC().Format("2006-01-02 15:04:05.999999")
	}
	return fmt.Sprint(v)
}

// isTrue reports whether a value means true, such as on, 1, t or true.
func isTrue(v any) bool {
	switch textOf(v) {
	case "on", "ON", "1", "true", "t", "YES":
		return true
	}
	return false
}

// timeOf returns the time in a value, which some drivers return as text.
func timeOf(v any) (time.Time, bool) {
	if at, ok := v.(time.Time); ok {
		return at, true
	}
	text := textOf(v)
	for _, layout := range []string{"2006-01-02 15:04:05.999999999", "2006-01-02T15:04:05.999999999Z07:00", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at, true
		}
	}
	return time.Time{}, false
}

// integerOf returns the integer in a value, 0 if there is none.
func integerOf(v any) int64 {
	n, err := strconv.ParseInt(textOf(v), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
