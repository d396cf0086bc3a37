package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

// Bounds of the columns of a row.
const (
	MaxName = 190 // characters of the name of a row

	MaxNext     = math.MaxInt64 // the greatest next value there is
	MaxReserved = MaxNext - 1   // the greatest integer that can be reserved

	// nameHash is how many characters at the end of a shortened name are a hash of the
	// whole: 80 bits.
	nameHash = 20
)

// ShortName returns the name of a row, of which one that is too long ends in a hash of the
// whole.
func ShortName(name string) string {
	if utf8.RuneCountInString(name) <= MaxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return CutName(name) + "-" + hex.EncodeToString(sum[:])[:nameHash]
}

// CutName returns the part of a name that stands before the hash, if there is one.
func CutName(name string) string {
	if characters := []rune(name); len(characters) > MaxName-nameHash-1 {
		return string(characters[:MaxName-nameHash-1])
	}
	return name
}

// CheckName returns ErrName unless a name can be the key of a row on every
// engine: MySQL and SQL Server take "a" and "a " for the same.
func CheckName(name string) error {
	switch {
	case name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, 0),
		strings.TrimSpace(name) != name, utf8.RuneCountInString(name) > MaxName:
		return fmt.Errorf("%w: %q", ErrName, name)
	}
	return nil
}
