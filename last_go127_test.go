//go:build go1.27

package keyfill_test

import (
	"testing"
	"uuid"
)

// TestLastStandardUUID: a UUID is given as the standard library's type.
func TestLastStandardUUID(t *testing.T) {
	rec := recorded(t, config("sqlite"))
	text := rec.Keys("t")[0].Key.(interface{ String() string }).String()
	last(t, rec, uuid.MustParse(text), true)
}
