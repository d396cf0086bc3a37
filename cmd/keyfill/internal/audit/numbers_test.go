package audit

// The test is inside the package: what a command is made of is not exported.

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// judged returns the findings about rows and cancelled numbers, by counting each number from
// 1 to most: an account that is slow, and independent of the order.
func judged(rows, void map[int64]int, begin, next, most int64) []string {
	var all []string
	add := func(rule string, from, to int64) {
		all = append(all, fmt.Sprintf("%s %d-%d", rule, from, to))
	}
	var last int64 // the greatest number below next that is there
	end := next - 1
	if next == 0 {
		end = most
	}
	there := func(n int64) bool { return rows[n]+void[n] > 0 }
	for n := int64(1); n <= end; n++ {
		if there(n) {
			last = n
		}
	}
	first := int64(1)
	for ; first <= last && !there(first); first++ {
	}
	for n := begin; n <= last; n++ {
		if there(n) {
			continue
		}
		to := n
		for to < last && !there(to+1) {
			to++
		}
		rule := ruleGap
		if n < first {
			rule = ruleFirst
		}
		add(rule, n, to)
		n = to
	}
	if from := max(last+1, begin); next > 0 && from < next {
		add(ruleTail, from, next-1)
	}
	var above []int64
	for n := int64(1); n <= most; n++ {
		if rows[n] > 1 {
			add(ruleDouble, n, n)
		}
		if rows[n] > 0 && void[n] > 0 {
			add(ruleCancelled, n, n)
		}
		if next > 0 && n >= next && there(n) {
			above = append(above, n)
		}
	}
	if above != nil {
		add(ruleAbove, above[0], above[len(above)-1])
	}
	slices.Sort(all)
	return all
}

// TestWalk: numbers that come in their order give the findings that counting each number
// gives.
func TestWalk(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	found := map[string]int{}
	for range 20_000 {
		const most = 12
		rows, void := map[int64]int{}, map[int64]int{}
		w := &walk{begin: 1 + random.Int64N(4), strict: true}
		if random.IntN(3) > 0 {
			w.next = 1 + random.Int64N(most)
		}
		var got []string
		w.found = func(f Finding) error {
			got = append(got, fmt.Sprintf("%s %d-%d", f.Rule, f.From, f.To))
			found[f.Rule]++
			return nil
		}
		share := random.IntN(5)
		for n := int64(1); n <= most; n++ {
			for random.IntN(5) < share && rows[n] < 3 {
				rows[n]++
				if err := w.add(n, false); err != nil {
					t.Fatal(err)
				}
			}
			if random.IntN(6) == 0 {
				void[n]++
				if err := w.add(n, true); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := w.end(); err != nil {
			t.Fatal(err)
		}
		slices.Sort(got)
		if want := judged(rows, void, w.begin, w.next, most); !slices.Equal(got, want) {
			t.Fatalf("begin %d, next %d, rows %v, cancelled %v:\n got %v\nwant %v", w.begin, w.next, rows, void, got, want)
		}
	}
	for _, rule := range []string{ruleFirst, ruleGap, ruleTail, ruleDouble, ruleCancelled, ruleAbove} {
		if found[rule] == 0 {
			t.Errorf("no case has the finding %s", rule)
		}
	}
}

// TestWalkOrder: numbers that come in another order are an error, since the findings would be
// wrong.
func TestWalkOrder(t *testing.T) {
	w := &walk{begin: 1, strict: true, found: func(Finding) error { return nil }}
	if err := w.add(-2, false); err != nil {
		t.Fatal(err)
	}
	if err := w.add(3, false); err != nil {
		t.Fatal(err)
	}
	if err := w.add(2, false); err == nil || !strings.Contains(err.Error(), "has sorted 2 after 3") {
		t.Errorf("2 after 3: %v", err)
	}
}

// TestParentValues: the values of a parent are read from the name of its row.
func TestParentValues(t *testing.T) {
	for _, c := range []struct{ list, want string }{
		{"7]", "[7]"},
		{"-7,'a']", "[-7 a]"},
		{"'it''s, [x]',9]", "[it's, [x] 9]"},
		{"'']", "[]"},
		{"18446744073709551615,-1]", "[18446744073709551615 -1]"},
		{"18446744073709551616]", ""},
		{"'a", ""},
		{"7", ""},
		{"7,]", ""},
		{"'aaaa-0123456789abcdef", ""},
		{"]", ""},
		{"", ""},
	} {
		values, whole := parentValues(c.list)
		if got := fmt.Sprint(values); whole != (c.want != "") || whole && got != c.want {
			t.Errorf("%s: %s, %t, want %s", c.list, got, whole, c.want)
		}
	}
}

// TestTextShowsValues: what people read shows a text in quotes, so that an end of line in it begins
// no other finding.
func TestTextShowsValues(t *testing.T) {
	var out strings.Builder
	f := Finding{Rule: ruleGap, Severity: severityError, Column: "lines.no", Message: "2 is missing",
		Parent: map[string]any{"a": int64(7), "b": "x, y\nerror: gap", "c": nil}}
	if err := NewText(&out).Print(f); err != nil {
		t.Fatal(err)
	}
	if want := `error: gap: lines.no within a 7, b "x, y\nerror: gap", c NULL: 2 is missing` + "\n"; out.String() != want {
		t.Errorf("got %s, want %s", out.String(), want)
	}
}
