package store

import (
	"math"
	"strconv"
	"strings"
)

// columnType is a type as the catalog of an engine writes it: "decimal(10,0)",
// "int(11) unsigned", "timestamp(3) without time zone".
type columnType struct {
	name     string // in lower case, without the part in parentheses
	text     string // all of it
	args     []int  // -1 for one that is left out
	unsigned bool
}

func parseType(text string) columnType {
	t := columnType{text: text}
	before, rest, _ := strings.Cut(strings.ToLower(text), "(")
	inside, after, _ := strings.Cut(rest, ")")
	words := strings.Fields(before + " " + after)
	if strings.Trim(inside, ", ") != "" {
		for _, one := range strings.Split(inside, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(one))
			if err != nil {
				n = -1
			}
			t.args = append(t.args, n)
		}
	}
	var kept []string
	for _, word := range words {
		switch word {
		case "unsigned":
			t.unsigned = true
		case "zerofill":
		default:
			kept = append(kept, word)
		}
	}
	t.name = strings.Join(kept, " ")
	return t
}

// greatest returns the greatest integer of a type, 0 for one that holds others
// than integers. A decimal without a precision holds more than an int64 does.
func (w *wording) greatest(t columnType) int64 {
	switch t.name {
	case "decimal", "numeric", "number":
		if len(t.args) > 1 && t.args[1] != 0 {
			return 0
		}
		if len(t.args) == 0 || t.args[0] < 0 || t.args[0] > 18 {
			return math.MaxInt64
		}
		n := int64(1)
		for range t.args[0] {
			n *= 10
		}
		return n - 1
	}
	n := w.integers[t.name]
	if t.unsigned && n > 0 && n < math.MaxInt64 {
		n = 2*n + 1
	}
	return n
}
