package store

import (
	"fmt"
	"math"
	"strconv"
)

// Integer converts v, an integer in one of the forms in which drivers return it (an
// integer type, or its digits), to an int64. A uint64 above math.MaxInt64 becomes
// math.MaxInt64.
func Integer(v any) (int64, error) {
	switch v := v.(type) {
	case int64:
		return v, nil
	case uint64:
		return int64(min(v, math.MaxInt64)), nil
	case []byte:
		return Integer(string(v))
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		if err != nil && n != math.MaxInt64 {
			return 0, ErrAnswer
		}
		return n, nil
	}
	return 0, fmt.Errorf("%w but a %T", ErrAnswer, v)
}

// Text converts a text in one of the forms in which drivers return it to a string. NULL
// becomes the empty string, since Oracle stores an empty text as NULL.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
