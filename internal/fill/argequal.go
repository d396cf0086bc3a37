package fill

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"time"
)

// equalValues compares two arguments of the basic types of a driver, among
// which go-sql-driver counts uint64 and json.RawMessage; any other type may not
// be comparable, and equals nothing.
func equalValues(x, y driver.Value) bool {
	switch x := x.(type) {
	case nil:
		return y == nil
	case int64:
		y, ok := y.(int64)
		return ok && x == y
	case uint64:
		y, ok := y.(uint64)
		return ok && x == y
	case float64:
		y, ok := y.(float64)
		return ok && x == y
	case bool:
		y, ok := y.(bool)
		return ok && x == y
	case string:
		y, ok := y.(string)
		return ok && x == y
	case []byte:
		y, ok := y.([]byte)
		return ok && (x == nil) == (y == nil) && bytes.Equal(x, y)
	case json.RawMessage:
		y, ok := y.(json.RawMessage)
		return ok && (x == nil) == (y == nil) && bytes.Equal(x, y)
	case time.Time:
		y, ok := y.(time.Time)
		return ok && x.Equal(y) && x.Location() == y.Location()
	}
	return false
}
