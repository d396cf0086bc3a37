package dbconn

import (
	"strconv"
	"strings"
)

// MajorMinor reads the two numbers that a server's version begins with, such as 10 and 11
// of 10.11.19-MariaDB; a missing number is 0. read is how many of these numbers the version
// has.
func MajorMinor(version string) (major, minor, read int) {
	major, rest, ok := leadingNumber(version)
	if !ok {
		return 0, 0, 0
	}
	if rest, ok = strings.CutPrefix(rest, "."); ok {
		minor, _, ok = leadingNumber(rest)
	}
	if !ok {
		return major, 0, 1
	}
	return major, minor, 2
}

// leadingNumber reads the decimal digits that text begins with.
func leadingNumber(text string) (n int, rest string, ok bool) {
	rest = strings.TrimLeft(text, "0123456789")
	n, err := strconv.Atoi(text[:len(text)-len(rest)])
	return n, rest, err == nil
}
