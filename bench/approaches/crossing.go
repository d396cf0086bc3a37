package approaches

import (
	"fmt"
	"strings"
)

// Crossing is where one line crosses another, upwards or downwards.
type Crossing struct {
	At    float64 // connections
	Ahead bool    // whether the first line is ahead after the crossing
}

// Crossings returns where the line through the points (at[i], a[i]) crosses the line
// through (at[i], b[i]), with straight lines between the points. at ascends. A line that
// only touches the other does not cross it.
func Crossings(at []int, a, b []float64) []Crossing {
	var found []Crossing
	last := -1 // the last point at which the lines differ
	for i := range at {
		d := a[i] - b[i]
		if d == 0 {
			continue
		}
		if last >= 0 && (a[last]-b[last] > 0) != (d > 0) {
			// The lines are equal at the points last+1 to i-1, if there are any. So they
			// cross between the points i-1 and i.
			from := i - 1
			before := a[from] - b[from]
			x := float64(at[from]) + float64(at[i]-at[from])*before/(before-d)
			found = append(found, Crossing{At: x, Ahead: d > 0})
		}
		last = i
	}
	return found
}

// describe returns a text that says at how many connections line a is ahead of line b.
func describe(at []int, a, b []float64) string {
	found := Crossings(at, a, b)
	if len(found) == 0 {
		for i := range at {
			switch {
			case a[i] > b[i]:
				return "ahead"
			case a[i] < b[i]:
				return "behind"
			}
		}
		return "the same"
	}
	var words []string
	for i, c := range found {
		switch {
		case c.Ahead:
			words = append(words, fmt.Sprintf("from %.1f", c.At))
		case i == 0:
			words = append(words, fmt.Sprintf("to %.1f", c.At))
		default:
			words[len(words)-1] += fmt.Sprintf(" to %.1f", c.At)
		}
	}
	return strings.Join(words, ", ")
}
