package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"

	"github.com/keyfill/keyfill/bench/figures"
	"github.com/keyfill/keyfill/internal/stats"
)

// difference is one figure, compared between two source trees.
type difference struct {
	what    string
	change  stats.Estimate // the figure of the working tree divided by the figure of BASE
	control stats.Estimate // the figure of the tree's second program divided by the figure of its first
	larger  bool           // whether a larger figure is better
	added   bool           // whether BASE has no such figure, so that change means nothing
}

// differences compares the rounds of BASE, of the tree and of the tree's second program. If
// one of these lacks a figure, that is an error. Only BASE may lack a figure in all rounds:
// if the figure is optional, or if BASE was measured by its own benchmarks.
func differences(base, tree, again []map[string]figures.Figure, own bool) (all []difference, err error) {
	if len(tree[0]) == 0 {
		return nil, errors.New("nothing was measured: see -only")
	}
	for _, what := range slices.Sorted(maps.Keys(tree[0])) {
		d := difference{what: what, larger: tree[0][what].Bar.Least > 0 || tree[0][what].Bar.Reach > 0}
		d.added = (own || tree[0][what].Optional) && !slices.ContainsFunc(base, func(round map[string]figures.Figure) bool {
			_, ok := round[what]
			return ok
		})
		var change, control []float64
		for round := range tree {
			a, ok1 := base[round][what]
			b, ok2 := tree[round][what]
			c, ok3 := again[round][what]
			if !ok1 && !d.added || !ok2 || !ok3 {
				return nil, fmt.Errorf("round %d: %s was not measured for both trees", round+1, what)
			}
			change = append(change, ratio(b.Value.Median, a.Value.Median))
			control = append(control, ratio(c.Value.Median, b.Value.Median))
		}
		d.change, d.control = stats.Of(change), stats.Of(control)
		all = append(all, d)
	}
	return all, nil
}

// ratio returns a / b. 0 / 0 is 1.
func ratio(a, b float64) float64 {
	switch {
	case a == b:
		return 1
	case b == 0:
		return math.Inf(1)
	}
	return a / b
}

// The verdicts on a difference.
const (
	same   = ""
	worse  = "worse"
	better = "better"
	added  = "added"
)

func (d difference) verdict() string {
	switch more := d.change.Low > d.control.High; {
	case d.added:
		return added
	case !more && d.change.High >= d.control.Low:
		return same
	case more == d.larger:
		return better
	}
	return worse
}

// report prints a line for each figure, and returns an error if a figure is worse.
func report(w io.Writer, all []difference) error {
	count := map[string]int{}
	for _, d := range all {
		count[d.verdict()]++
		if d.added {
			fmt.Fprintf(w, "%-6s  A/A %.2f to %.2f  %s\n", added, d.control.Low, d.control.High, d.what)
			continue
		}
		fmt.Fprintf(w, "%-6s  %5.2fx (%.2f to %.2f), A/A %.2f to %.2f  %s\n",
			d.verdict(), d.change.Median, d.change.Low, d.change.High, d.control.Low, d.control.High, d.what)
	}
	fmt.Fprintf(w, "%d figures: %d worse, %d better, %d within their A/A spread, %d that BASE lacks\n", len(all), count[worse], count[better], count[same], count[added])
	if count[worse] > 0 {
		return fmt.Errorf("%d figures are worse than BASE's", count[worse])
	}
	return nil
}
