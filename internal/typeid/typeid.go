// Package typeid writes and reads TypeIDs: the text of a UUID with a prefix that names the
// type of what it identifies (TypeID specification, version 0.3.0,
// https://github.com/jetify-com/typeid/tree/main/spec).
//
//	cus_01h455vb4pex5vsknk084sn02q
//	|-| |------------------------|
//	prefix    26 characters of base 32: 2 zero bits, then the 128 bits of the UUID
//
//	typeid = [ prefix "_" ] suffix
//	prefix = letter [ { letter | "_" } letter ]   up to 63 characters
//	suffix = digit { digit }                      26 of 0 to 9 and a to z without i, l, o, u
//	letter = "a" to "z"
//
// The first character of a suffix is 0 to 7. Only this spelling is read: no upper case, and
// no other characters for those that look alike.
package typeid

import (
	"encoding/binary"
	"strings"

	"github.com/keyfill/keyfill/internal/anchor"
)

const (
	// SuffixSize is how many characters the suffix of a TypeID has.
	SuffixSize = 26

	// MaxPrefix is how many characters a prefix has at most.
	MaxPrefix = 63

	// MaxSize is how many characters a TypeID has at most.
	MaxSize = MaxPrefix + 1 + SuffixSize

	digits = "0123456789abcdefghjkmnpqrstvwxyz"
)

// Errors about a text that is not a TypeID.
var (
	// ErrPrefix is returned for a prefix with other characters, or with too many.
	ErrPrefix = anchor.New("public-id", "a prefix needs letters from a to z, 63 at most, with underscores in between only")

	// ErrSeparator is returned for a text that begins with an underscore.
	ErrSeparator = anchor.New("public-id", "the id begins with an underscore: write the prefix before the underscore, or leave the underscore out")

	// ErrSize is returned for a suffix that is too short or too long.
	ErrSize = anchor.New("public-id", "it needs 26 characters after its prefix")

	// ErrDigit is returned for a suffix with other characters.
	ErrDigit = anchor.New("public-id", "after the prefix there are digits and lower-case letters without i, l, o and u")

	// ErrRange is returned for a suffix that stands for more than 128 bits.
	ErrRange = anchor.New("public-id", "the first character after the prefix is at most 7")
)

// CheckPrefix returns [ErrPrefix] if no TypeID can have this prefix. The empty prefix is
// one that a TypeID can have.
func CheckPrefix(prefix string) error {
	last := len(prefix) - 1
	for i := range len(prefix) {
		isLetter := 'a' <= prefix[i] && prefix[i] <= 'z'
		if !isLetter && (prefix[i] != '_' || i == 0 || i == last) {
			return ErrPrefix
		}
	}
	if len(prefix) > MaxPrefix {
		return ErrPrefix
	}
	return nil
}

// Append appends the TypeID of a key, in RFC order, to b. It does not check the prefix.
func Append(b []byte, prefix string, key [16]byte) []byte {
	if prefix != "" {
		b = append(b, prefix...)
		b = append(b, '_')
	}
	var t [SuffixSize]byte
	hi, lo := binary.BigEndian.Uint64(key[:8]), binary.BigEndian.Uint64(key[8:])
	for i := SuffixSize - 1; i >= 0; i-- {
		t[i] = digits[lo&31]
		lo = lo>>5 | hi<<59
		hi >>= 5
	}
	return append(b, t[:]...)
}

// Parse returns the prefix and the key of a TypeID. Its error is one of the errors of this
// package.
func Parse(text string) (prefix string, key [16]byte, err error) {
	suffix := text
	if at := strings.LastIndexByte(text, '_'); at >= 0 {
		prefix, suffix = text[:at], text[at+1:]
		if prefix == "" {
			return "", key, ErrSeparator
		}
		if err := CheckPrefix(prefix); err != nil {
			return "", key, err
		}
	}
	key, err = parseSuffix(suffix)
	if err != nil {
		return "", key, err
	}
	return prefix, key, nil
}

func parseSuffix(suffix string) (key [16]byte, err error) {
	if len(suffix) != SuffixSize {
		return key, ErrSize
	}
	var hi, lo uint64
	for i := range len(suffix) {
		digit := values[suffix[i]]
		if digit < 0 {
			return key, ErrDigit
		}
		hi = hi<<5 | lo>>59
		lo = lo<<5 | uint64(digit)
	}
	if suffix[0] > '7' {
		return key, ErrRange
	}
	binary.BigEndian.PutUint64(key[:8], hi)
	binary.BigEndian.PutUint64(key[8:], lo)
	return key, nil
}

// values has the value of each digit, and -1 for the characters that are none.
var values = func() (v [256]int8) {
	for i := range v {
		v[i] = int8(strings.IndexByte(digits, byte(i)))
	}
	return v
}()
