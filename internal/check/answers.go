package check

import (
	"fmt"
	"strconv"
	"time"
)

// text returns the first value of an answer as a text, empty for NULL and for no row.
func (c *checker) text(query string, args ...any) (string, error) {
	row, err := c.row(query, args...)
	if err != nil || len(row) == 0 {
		return "", err
	}
	return textOf(row[0]), nil
}

// row returns the first row of an answer, nil where there is none.
func (c *checker) row(query string, args ...any) ([]any, error) {
	rows, err := c.q.Rows(c.ctx, query, args...)
	if err != nil || len(rows) == 0 {
		return nil, err
	}
	return rows[0], nil
}

// textOf reads a value as drivers give them.
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

// isTrue reads a value that says yes: on, 1, true.
func isTrue(v any) bool {
	switch textOf(v) {
	case "on", "ON", "1", "true", "t", "YES":
		return true
	}
	return false
}

// timeOf reads the time of a row, which some drivers give as a text.
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

// integerOf reads an integer, 0 for none.
func integerOf(v any) int64 {
	n, err := strconv.ParseInt(textOf(v), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
