package execution

import (
	"bytes"
	"database/sql/driver"
	"encoding/json"
	"reflect"
	"time"
)

// equalValues reports whether two arguments are equal, if they have a basic type of a
// driver (go-sql-driver/mysql also accepts uint64 and json.RawMessage), or another type
// of numbers, texts or bytes. Values of any other type may not be comparable, and are
// never equal.
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
	return reflect.TypeOf(x) == reflect.TypeOf(y) && isPlainValue(reflect.TypeOf(x)) && x == y
}

// isPlainValue reports whether a type consists of numbers, texts or bytes without
// pointers, so that Go compares the whole value. A driver such as pgx accepts an int or
// a [16]byte as it is.
func isPlainValue(t reflect.Type) bool {
	switch k := t.Kind(); {
	case reflect.Bool <= k && k <= reflect.Float64 && k != reflect.Uintptr, k == reflect.String:
		return true
	case k == reflect.Array:
		return t.Elem().Kind() == reflect.Uint8
	}
	return false
}
