package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// small is a repository with one package of product code and two of tests.
var small = map[string]string{
	"go.mod":      "module github.com/keyfill/keyfill\n\ngo 1.26.0\n",
	"go.work":     "go 1.26.0\n\nuse (\n\t.\n\t./e2e\n)\n",
	"e2e/go.mod":  "module github.com/keyfill/keyfill/e2e\n\ngo 1.26.0\n\nrequire github.com/keyfill/keyfill v0.0.0\n\nreplace github.com/keyfill/keyfill => ../\n",
	"count/on.go": "// Package count counts.\npackage count\n\n// On returns n+1, and at most max.\nfunc On(n, max int) int {\n\tif n >= max {\n\t\treturn max\n\t}\n\treturn n + 1\n}\n\n// Off is never called.\nfunc Off(n int) int { return n - 1 }\n",
	"count/on_test.go": `package count_test

import (
	"testing"

	"github.com/keyfill/keyfill/count"
)

func TestOn(t *testing.T) {
	t.Parallel()
	if got := count.On(1, 5); got != 2 {
		t.Errorf("On(1, 5) = %d, want 2", got)
	}
}

func TestNothing(*testing.T) {}
`,
	"e2e/far/far_test.go": `package far_test

import (
	"os"
	"testing"

	"github.com/keyfill/keyfill/count"
)

func TestMost(t *testing.T) {
	if turn := os.Getenv("KEYFILL_TEST_TURN"); turn != "" && turn != "3" {
		return
	}
	if got := count.On(7, 5); got != 5 {
		t.Errorf("On(7, 5) = %d, want 5", got)
	}
}
`,
}

// repository writes a repository into a folder, whose first commit lacks the lower bound of
// count.On and its test.
func repository(t *testing.T) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), "small")
	git := func(args ...string) {
		t.Helper()
		if _, err := output(command(root, "git", append([]string{"-c", "user.name=a", "-c", "user.email=a@localhost"}, args...)...)); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range small {
		if name == "count/on.go" {
			text = strings.Replace(text, "\tif n >= max {\n\t\treturn max\n\t}\n", "", 1)
		}
		if name != "e2e/far/far_test.go" {
			write(t, root, name, text)
		}
	}
	git("init", "-q")
	git("add", "-A")
	git("commit", "-q", "-m", "count: one function")
	write(t, root, "count/on.go", small["count/on.go"])
	write(t, root, "e2e/far/far_test.go", small["e2e/far/far_test.go"])
	git("add", "-A")
	git("commit", "-q", "-m", "count: at most")
	return root
}

// write writes a file of a repository.
func write(t *testing.T, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// command line of faults.
func line(t *testing.T, args ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	err := faults(args, &out)
	return out.String(), err
}

// TestRecordAndCheck: faults are found and recorded, and found again where tests have
// moved; a test that checks less loses them. Coverage has what processes and tests reach.
func TestRecordAndCheck(t *testing.T) {
	root := repository(t)
	file := filepath.Join(t.TempDir(), "faults.jsonl")
	work := t.TempDir()
	covered := filepath.Join(work, "covered.txt")
	out, err := line(t, "record", "-root", root, "-work", work, "-file", file, "-mutants", "2", "-commits", "1")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entries, err := readEntries(file)
	if err != nil || len(entries) != 3 {
		t.Fatalf("%d faults are recorded, %v, want 3\n%s", len(entries), err, out)
	}
	commits := 0
	for _, e := range entries {
		switch {
		case e.Commit != "":
			commits++
			if e.Result != killed || e.Test != "TestMost" || e.Program != "e2e/far" {
				t.Errorf("%s, want it killed by TestMost", &e)
			}
		case e.Mutant.Function != "On" || e.Mutant.Package != "count":
			t.Errorf("%s: no test reaches this", &e)
		case e.Result != killed && e.Result != survives:
			t.Errorf("%s, want a result", &e)
		}
	}
	if commits != 1 {
		t.Errorf("%d commits are undone, want 1", commits)
	}
	if !slices.ContainsFunc(entries, func(e entry) bool { return e.Mutant != nil && e.Result == killed }) {
		t.Error("no mutant is killed")
	}

	if out, err := line(t, "coverage", "-root", root, "-work", work, "-out", covered); err != nil || !strings.Contains(out, "75.00\t3\t4\tcount\n") {
		t.Errorf("%v: coverage prints\n%s\nwant 3 of 4 statements", err, out)
	}

	// The file moves within its package, and the test into another one.
	write(t, root, "count/more.go", small["count/on.go"])
	write(t, root, "count/on.go", "package count\n")
	write(t, root, "e2e/near/near_test.go", small["e2e/far/far_test.go"])
	if err := os.Remove(filepath.Join(root, "e2e/far/far_test.go")); err != nil {
		t.Fatal(err)
	}
	mutants := slices.DeleteFunc(slices.Clone(entries), func(e entry) bool { return e.Commit != "" })
	if err := writeEntries(file, mutants); err != nil {
		t.Fatal(err)
	}
	if out, err := line(t, "check", "-root", root, "-file", file); err != nil {
		t.Errorf("%v after a move\n%s", err, out)
	}
	write(t, root, "e2e/near/near_test.go", strings.Replace(small["e2e/far/far_test.go"], "got != 5", "got < 0", 1))
	write(t, root, "count/on_test.go", strings.Replace(small["count/on_test.go"], "got != 2", "got < 0", 1))
	if out, err := line(t, "check", "-root", root, "-file", file); err == nil {
		t.Errorf("tests that check nothing find all\n%s", out)
	}
}

// TestPlaces: a mutant is found again where its function has become another package's, and
// is told where it is gone.
func TestPlaces(t *testing.T) {
	root := repository(t)
	file := filepath.Join(t.TempDir(), "faults.jsonl")
	for _, c := range []struct {
		mutant key
		mended bool
	}{
		{key{"elsewhere", "(*counter).on", "negate", "c.n >= c.max", 0}, true},
		{key{"count", "On", "negate", "n > max", 0}, false},
	} {
		want := []entry{{ID: "mutant-000", Result: killed, Mutant: &c.mutant}}
		if err := writeEntries(file, want); err != nil {
			t.Fatal(err)
		}
		if out, err := line(t, "places", "-root", root, "-file", file); err == nil || !strings.Contains(out, "gone: mutant-000") {
			t.Errorf("%v: a place that is not there: %v\n%s", c.mutant, err, out)
		}
		out, err := line(t, "places", "-root", root, "-file", file, "-mend")
		if (err == nil) != c.mended {
			t.Errorf("%v: %v\n%s", c.mutant, err, out)
		}
		now, readErr := readEntries(file)
		if readErr != nil {
			t.Fatal(readErr)
		}
		if c.mended && *now[0].Mutant != (key{"count", "On", "negate", "n >= max", 0}) {
			t.Errorf("%v has become %v", c.mutant, *now[0].Mutant)
		}
	}
}

// TestTurns: a fault that a test finds in its third turn counts where there are as many.
func TestTurns(t *testing.T) {
	root := repository(t)
	file := filepath.Join(t.TempDir(), "faults.jsonl")
	if err := writeEntries(file, []entry{{
		ID: "mutant-000", Result: killed, Program: "e2e/far", Test: "TestMost",
		Mutant: &key{"count", "On", "negate", "n >= max", 0},
	}}); err != nil {
		t.Fatal(err)
	}
	if out, err := line(t, "check", "-root", root, "-file", file, "-turns", "3"); err != nil || !strings.Contains(out, "in turn 3: mutant-000 by e2e/far.TestMost") {
		t.Errorf("%v\n%s", err, out)
	}
	if out, err := line(t, "check", "-root", root, "-file", file, "-turns", "2"); err == nil {
		t.Errorf("two turns find what has its turn in the third\n%s", out)
	}
}

// TestCandidates: the kinds of changes, each with the text that it makes.
func TestCandidates(t *testing.T) {
	root := repository(t)
	write(t, root, "count/kinds.go", `package count

import (
	"errors"
	"time"
)

type list struct {
	items []int64
	last  time.Duration
}

const most = 3

func (l *list) add(n int64, ok bool) (_ int, err error) {
	defer func() { l.last++ }()
	if ok && n < most {
		l.items = append(l.items, n+1)
	}
	l.last = 5 * time.Second
	if n == 7 {
		return 0, errors.New("seven")
	}
	return len(l.items), nil
}
`)
	tr, err := openTree(root)
	if err != nil {
		t.Fatal(err)
	}
	found, err := findCandidates(tr)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var kinds []candidate
	for _, c := range found {
		if c.Function == "(*list).add" {
			got = append(got, c.Kind+": "+c.Node+": "+c.change(0))
			kinds = append(kinds, c)
		}
	}
	want := []string{
		"return early: defer func() { l.last++ }(): if keyfillinserted.Is(0) { return *new(int), *new(error) }; ",
		"drop: defer func() { l.last++ }(): if !keyfillinserted.Is(0) { defer func() { l.last++ }() }",
		"drop: l.last++: if !keyfillinserted.Is(0) { l.last++ }",
		"negate: ok && n < most: (keyfillinserted.Is(0) != (ok && n < most))",
		"swap && and ||: ok && n < most: func() bool { if keyfillinserted.Is(0) { return ok || n < most }; return ok && n < most }()",
		"swap < and <=: n < most: func() bool { if keyfillinserted.Is(0) { return n <= most }; return n < most }()",
		"drop: l.items = append(l.items, n+1): if !keyfillinserted.Is(0) { l.items = append(l.items, n+1) }",
		"without +1: n+1: func() int64 { if keyfillinserted.Is(0) { return n }; return n+1 }()",
		"off by one: 1: keyfillinserted.Off(0, int64(1))",
		"drop: l.last = 5 * time.Second: if !keyfillinserted.Is(0) { l.last = 5 * time.Second }",
		"negate: n == 7: (keyfillinserted.Is(0) != (n == 7))",
		"off by one: 7: keyfillinserted.Off(0, int64(7))",
		`swallow error: return 0, errors.New("seven"): if keyfillinserted.Is(0) { return 0, nil }; `,
		"off by one: 0: keyfillinserted.Off(0, int(0))",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the candidates are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for i := range kinds { // each compiles
		text, err := os.ReadFile(kinds[i].file)
		if err != nil {
			t.Fatal(err)
		}
		if bad, err := tr.mutate(kinds[i : i+1]); err != nil || len(bad) > 0 {
			t.Errorf("%s does not compile: %v", got[i], err)
		}
		if err := os.WriteFile(kinds[i].file, text, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCompareCoverage: half a point less is allowed, or as much as two recordings differ.
func TestCompareCoverage(t *testing.T) {
	before, err := readCoverage("90.00\t900\t1000\ta\n80.00\t800\t1000\tb\n70.00\t7\t10\tb\tF\n100.00\t1\t1\tc\n")
	if err != nil {
		t.Fatal(err)
	}
	now, err := readCoverage("89.60\t896\t1000\ta\n78.90\t789\t1000\tb\n0.00\t0\t10\tb\tF\n")
	if err != nil {
		t.Fatal(err)
	}
	again, err := readCoverage("90.00\t900\t1000\ta\n81.20\t812\t1000\tb\n")
	if err != nil {
		t.Fatal(err)
	}
	names := func(lost []lower) (names []string) {
		for _, l := range lost {
			names = append(names, l.Package)
		}
		return names
	}
	if got := names(compareCoverage(before, now, nil)); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("%v are lower, want b, and c that is gone", got)
	}
	if got := names(compareCoverage(before, now, again)); !slices.Equal(got, []string{"c"}) {
		t.Errorf("%v are lower, want c, since b differs as much by itself", got)
	}
}

// TestTogether: mutants that no quick test finds are found with several at once, and the
// survivors are reported.
func TestTogether(t *testing.T) {
	root := repository(t)
	write(t, root, "count/on_test.go", strings.Replace(small["count/on_test.go"], "got != 2", "got < 0", 1))
	file := filepath.Join(t.TempDir(), "faults.jsonl")
	out, err := line(t, "record", "-root", root, "-file", file, "-mutants", "2", "-commits", "0")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	entries, err := readEntries(file)
	if err != nil || len(entries) != 2 {
		t.Fatalf("%d faults are recorded, %v, want 2\n%s", len(entries), err, out)
	}
	// On(7, 5) never reaches the last line, which is without + 1 in one of them.
	if e := entries[0]; e.Mutant.Kind != "return early" || e.Result != killed || e.Program != "e2e/far" || e.Test != "TestMost" {
		t.Errorf("%s, want it killed by TestMost\n%s", &e, out)
	}
	if e := entries[1]; e.Mutant.Kind != "without +1" || e.Result != survives {
		t.Errorf("%s, want it to survive\n%s", &e, out)
	}
	if !strings.Contains(out, "faults at once, e2e/far") {
		t.Errorf("the mutants are not together:\n%s", out)
	}
}
