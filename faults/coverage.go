package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// compareTests orders tests by program and name.
func compareTests(a, b test) int {
	return cmp.Or(strings.Compare(a.Program, b.Program), strings.Compare(a.Name, b.Name))
}

// place is a function, or a whole package if Function is empty.
type place struct {
	Package, Function string
}

// share is a number of statements, and how many of them are covered.
type share struct {
	Covered, All int
}

// percent returns the share in percent. If there are no statements, it returns 100.
func (s share) percent() float64 {
	if s.All == 0 {
		return 100
	}
	return 100 * float64(s.Covered) / float64(s.All)
}

// coverage returns the shares of packages and functions. A statement is covered if a test
// program, or a process that a test program has started, has reached it.
func (r *reach) coverage() map[place]share {
	covered := make([]bool, len(r.Blocks))
	for _, t := range r.Tests {
		for _, n := range t.Blocks {
			covered[n] = true
		}
	}
	for _, blocks := range r.Outside {
		for _, n := range blocks {
			covered[n] = true
		}
	}
	shares := map[place]share{}
	for n, b := range r.Blocks {
		for _, p := range []place{{short(b.Package), ""}, {short(b.Package), b.Function}} {
			s := shares[p]
			s.All += b.Statements
			if covered[n] {
				s.Covered += b.Statements
			}
			shares[p] = s
			if b.Function == "" { // the block is in a function literal outside of functions, so it counts for the package only
				break
			}
		}
	}
	return shares
}

// writeCoverage writes one line for each package and each function: percent, statements
// that are covered, statements, package, function.
func writeCoverage(out io.Writer, shares map[place]share) error {
	places := slices.SortedFunc(maps.Keys(shares), func(a, b place) int {
		return cmp.Or(strings.Compare(a.Package, b.Package), strings.Compare(a.Function, b.Function))
	})
	for _, p := range places {
		s := shares[p]
		line := fmt.Sprintf("%.2f\t%d\t%d\t%s\t%s", s.percent(), s.Covered, s.All, p.Package, p.Function)
		if _, err := fmt.Fprintln(out, strings.TrimSuffix(line, "\t")); err != nil {
			return err
		}
	}
	return nil
}

// readCoverage reads what writeCoverage writes.
func readCoverage(text string) (map[place]share, error) {
	shares := map[place]share{}
	for line := range strings.Lines(text) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) < 4 {
			return nil, fmt.Errorf("%q is no line of a coverage", line)
		}
		p, s := place{Package: fields[3]}, share{}
		if len(fields) > 4 {
			p.Function = fields[4]
		}
		if _, err := fmt.Sscan(fields[1], &s.Covered); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		if _, err := fmt.Sscan(fields[2], &s.All); err != nil {
			return nil, fmt.Errorf("%q: %w", line, err)
		}
		shares[p] = s
	}
	return shares, nil
}

// lower is a package whose coverage is lower than it was.
type lower struct {
	Package     string
	Before, Now float64
	Allowed     float64 // by how many points the coverage may be lower
}

// compareCoverage returns the packages of before that are lower now by more than half a
// point and by more than the difference of two recordings of the same code, before and
// again; again may be nil. A package that does not exist now counts as 0 percent.
func compareCoverage(before, now, again map[place]share) (lost []lower) {
	for p, was := range before {
		if p.Function != "" {
			continue
		}
		is := 0.0
		if s, ok := now[p]; ok {
			is = s.percent()
		}
		allowed := 0.5
		if s, ok := again[p]; ok {
			allowed = max(allowed, s.percent()-was.percent(), was.percent()-s.percent())
		}
		if was.percent()-is > allowed {
			lost = append(lost, lower{p.Package, was.percent(), is, allowed})
		}
	}
	slices.SortFunc(lost, func(a, b lower) int { return strings.Compare(a.Package, b.Package) })
	return lost
}
