package store

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"
)

const (
	maxName = 190 // characters of the name of a row

	maxNext     = math.MaxInt64 // the greatest next value there is
	maxReserved = maxNext - 1   // the greatest integer that can be reserved

	// nameHash is how many characters of a name that is too long tell what was left
	// out: 80 bits.
	nameHash = 20
)

// shortName returns the name of a row, of which one that is too long ends in a hash of the
// whole.
func shortName(name string) string {
	if utf8.RuneCountInString(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return cutName(name) + "-" + hex.EncodeToString(sum[:])[:nameHash]
}

// cutName returns the part of a name that stands before the hash, if there is one.
func cutName(name string) string {
	if characters := []rune(name); len(characters) > maxName-nameHash-1 {
		return string(characters[:maxName-nameHash-1])
	}
	return name
}

// checkName returns ErrName unless a name can be the key of a row on every
// engine: MySQL and SQL Server take "a" and "a " for the same.
func checkName(name string) error {
	switch {
	case name == "" || !utf8.ValidString(name) || strings.ContainsRune(name, 0),
		strings.TrimSpace(name) != name, utf8.RuneCountInString(name) > maxName:
		return fmt.Errorf("%w: %q", ErrName, name)
	}
	return nil
}
