package engine

import (
	"math"
	"strconv"
	"strings"
)

// ColumnType is the type of a column, as the catalog of an engine writes it:
// "decimal(10,0)", "int(11) unsigned", "timestamp(3) without time zone".
type ColumnType struct {
	Name     string // in lower case, without the part in parentheses
	Text     string // the whole type
	Args     []int  // the numbers in parentheses; -1 for one that is missing
	unsigned bool
}

// ParseType reads a type as the catalog of an engine writes it.
func ParseType(text string) ColumnType {
	t := ColumnType{Text: text}
	before, rest, _ := strings.Cut(strings.ToLower(text), "(")
	inside, after, _ := strings.Cut(rest, ")")
	words := strings.Fields(before + " " + after)
	if strings.Trim(inside, ", ") != "" {
		for _, one := range strings.Split(inside, ",") {
			n, err := strconv.Atoi(strings.TrimSpace(one))
			if err != nil {
				n = -1
			}
			t.Args = append(t.Args, n)
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
	t.Name = strings.Join(kept, " ")
	return t
}

// Greatest returns the greatest integer that a column of type t can hold, at most
// math.MaxInt64; 0 if its values are not integers. A decimal without a precision counts
// as math.MaxInt64.
func (w *Wording) Greatest(t ColumnType) int64 {
	switch t.Name {
	case "decimal", "numeric", "number":
		if len(t.Args) > 1 && t.Args[1] != 0 {
			return 0
		}
		if len(t.Args) == 0 || t.Args[0] < 0 || t.Args[0] > 18 {
			return math.MaxInt64
		}
		n := int64(1)
		for range t.Args[0] {
			n *= 10
		}
		return n - 1
	}
	n := w.Integers[t.Name]
	if t.unsigned && n > 0 && n < math.MaxInt64 {
		n = 2*n + 1
	}
	return n
}
