package store

import (
	"fmt"
	"math"
	"strconv"
)

// Integer reads an integer as drivers give it: as one, or as its digits.
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

// Text reads a text; NULL is empty, and in Oracle an empty text is NULL.
func Text(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return ""
}
