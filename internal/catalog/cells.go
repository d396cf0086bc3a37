package catalog

import (
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

// cells reads the values of a row, whose types depend on the driver: the same number is an
// integer from one driver and text from another. NULL is read as the zero value. A value
// that cannot be read sets err.
type cells struct {
	row []any
	err error
}

func (c *cells) text(i int) string {
	switch v := c.row[i].(type) {
	case nil:
		return ""
	case string:
		return v
	case []byte:
		return string(v)
	}
	c.wrong(i, "text")
	return ""
}

func (c *cells) number(i int) int {
	switch v := c.row[i].(type) {
	case nil:
		return 0
	case int64:
		return int(v)
	case uint64:
		return int(v)
	case float64:
		return int(v)
	case bool:
		if v {
			return 1
		}
		return 0
	}
	n, err := strconv.Atoi(strings.TrimSpace(c.text(i)))
	if err != nil && c.err == nil {
		c.wrong(i, "number")
	}
	return n
}

// isSet returns value i as a boolean: true or false, 1 or 0, "t" or "f".
func (c *cells) isSet(i int) bool {
	switch c.row[i].(type) {
	case string, []byte:
		switch c.text(i) {
		case "t", "true":
			return true
		case "f", "false":
			return false
		}
	}
	return c.number(i) != 0
}

// isNull reports whether value i is NULL.
func (c *cells) isNull(i int) bool { return c.row[i] == nil }

func (c *cells) wrong(i int, want string) {
	c.err = anchor.Errorf("answer", "the driver gives value %d of the catalog's answer as a %T, which is no %s", i+1, c.row[i], want)
}
