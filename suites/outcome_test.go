package suites_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/suites"
)

// outcome reads a run of a program.
func outcome(t *testing.T, lines ...string) *suites.Outcome {
	t.Helper()
	o, err := suites.ReadOutcome(strings.NewReader(strings.Join(lines, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// result is the line of test2json with the result of a test.
func result(name, action string) string {
	return `{"Action":"` + action + `","Test":"` + name + `","Elapsed":0.01}`
}

func TestReadOutcome(t *testing.T) {
	o := outcome(t,
		`{"Time":"2026-01-02T03:04:05Z","Action":"start"}`,
		`{"Action":"run","Test":"TestA"}`,
		`{"Action":"output","Test":"TestA","Output":"=== RUN   TestA\n"}`,
		`{"Action":"run","Test":"TestA/one"}`,
		`{"Action":"output","Test":"TestA/one","Output":"no row\n"}`,
		result("TestA/one", "fail"), result("TestA/two", "pass"), result("TestA", "fail"),
		result("TestB", "skip"), result("TestC", "pass"),
		`{"Action":"output","Output":"FAIL\n"}`,
		`{"Action":"fail","Elapsed":0.1}`,
	)
	if got, want := o.Failed(), []string{"TestA/one"}; !slices.Equal(got, want) {
		t.Errorf("Failed() = %q, want %q", got, want)
	}
	if got := o.Tests(); got != 4 {
		t.Errorf("Tests() = %d, want 4: a skipped test has not run", got)
	}
	if got := o.Output["TestA/one"]; got != "no row\n" {
		t.Errorf("the output of TestA/one is %q", got)
	}
	if got := o.Output[""]; got != "FAIL\n" {
		t.Errorf("the output of the program is %q", got)
	}
}

func TestReadOutcomeRefuses(t *testing.T) {
	if _, err := suites.ReadOutcome(strings.NewReader("panic: no JSON\n")); err == nil {
		t.Error("a line that is no JSON has no error")
	}
}

func TestCompare(t *testing.T) {
	plain := outcome(t,
		result("TestSame", "pass"), result("TestBoth", "fail"), result("TestMended", "fail"),
		result("TestBroken", "pass"), result("TestSkipped", "pass"), result("TestGone", "pass"),
		result("TestDeep/a", "pass"), result("TestDeep/b", "fail"), result("TestDeep/c", "pass"), result("TestDeep", "fail"),
		result("TestStopped/a", "pass"), result("TestStopped/b", "pass"), result("TestStopped", "pass"),
	)
	filled := outcome(t,
		result("TestSame", "pass"), result("TestBoth", "fail"), result("TestMended", "pass"),
		result("TestBroken", "fail"), result("TestSkipped", "skip"), result("TestNew", "pass"),
		result("TestDeep/a", "fail"), result("TestDeep/b", "fail"), result("TestDeep/c", "pass"), result("TestDeep", "fail"),
		result("TestStopped/a", "fail"), result("TestStopped", "fail"),
	)
	c := suites.Compare(plain, filled)
	if want := []string{"TestBroken", "TestDeep/a", "TestStopped/a"}; !slices.Equal(c.Broken, want) {
		t.Errorf("Broken = %q, want %q", c.Broken, want)
	}
	if want := []string{"TestMended"}; !slices.Equal(c.Mended, want) {
		t.Errorf("Mended = %q, want %q", c.Mended, want)
	}
	// TestStopped/b has not run since TestStopped/a failed.
	if want := []string{"TestGone", "TestSkipped"}; !slices.Equal(c.Lost, want) {
		t.Errorf("Lost = %q, want %q", c.Lost, want)
	}
	if c := suites.Compare(plain, plain); len(c.Names()) != 0 {
		t.Errorf("a run differs from itself in %q", c.Names())
	}
}

func TestUnexpected(t *testing.T) {
	s := &suites.Suite{Differences: []suites.Difference{
		{Tests: []string{"TestKnown", "TestAlike"}},
		{Tests: []string{"TestChance"}, Sometimes: true},
		{Tests: []string{"TestJoined"}, Policies: []string{"joined"}},
		{Tests: []string{"TestSQLite"}, Drivers: []string{"sqlite3"}},
	}}
	c := suites.Comparison{Broken: []string{"TestKnown", "TestOther"}, Mended: []string{"TestJoined"}, Lost: []string{"TestSQLite"}}
	unlisted, alike := c.Unexpected(s, "mysql", "sequence")
	if want := []string{"TestOther", "TestJoined", "TestSQLite"}; !slices.Equal(unlisted, want) {
		t.Errorf("not in the list: %q, want %q", unlisted, want)
	}
	if want := []string{"TestAlike"}; !slices.Equal(alike, want) {
		t.Errorf("end alike: %q, want %q", alike, want)
	}
	if unlisted, _ = c.Unexpected(s, "sqlite3", "joined"); !slices.Equal(unlisted, []string{"TestOther"}) {
		t.Errorf("not in the list: %q, want TestOther", unlisted)
	}
}
