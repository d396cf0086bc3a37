package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// The limits of the columns of keyfill_sequences.
const (
	MaxName = 190 // the greatest length of a row's name, in characters

	MaxNext     = math.MaxInt64 // the greatest possible next value
	MaxReserved = MaxNext - 1   // the greatest integer that can be reserved

	// nameHash is how many characters at the end of a shortened name are a hash of the
	// whole name: 80 bits.
	nameHash = 20
)

// ShortName returns name if it fits into a row, and otherwise a shortened name that
// ends in a hash of the whole name.
func ShortName(name string) string {
	if utf8.RuneCountInString(name) <= MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return CutName(name) + "-" + hex.EncodeToString(sum[:])[:nameHash]
}

// CutName returns the beginning of a name: as many characters as a shortened name has
// before the hash.
func CutName(name string) string {
	if characters := []rune(name); len(characters) > MaxName-nameHash-1 {
		return string(characters[:MaxName-nameHash-1])
	}
	return name
}

// CheckName returns ErrName unless name can be the key of a row on every engine. Spaces
// at an end are refused, since MySQL and SQL Server treat "a" and "a " as equal.
func CheckName(name string) error {
	switch {
	case name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, 0),
		strings.TrimSpace(name) != name, utf8.RuneCountInString(name) > MaxName:
		return fmt.Errorf("%w: %q", ErrName, name)
	}
	return nil
}
