package figures_test

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"

	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/bench/figures"
	"github.com/keyfill/keyfill/bench/machine"
	"github.com/keyfill/keyfill/bench/page"
	"github.com/keyfill/keyfill/internal/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m, engines.Servers()...) }

// wholeRounds is how many rounds a run has whose table may be shown.
const wholeRounds = 21

// newRun returns what the environment asks for; measures is false without
// KEYFILL_BENCH=1, and then each figure has one round of a moment.
func newRun(t *testing.T) (r figures.Run, measures bool) {
	if os.Getenv("KEYFILL_BENCH") != "1" {
		return figures.Run{Rounds: 1, Share: 0.001}, false
	}
	return runOf(t, wholeRounds), true
}

// runOf returns a run of so many rounds, or of as many and of those groups alone that
// the environment asks for.
func runOf(t *testing.T, rounds int) figures.Run {
	r := figures.Run{Rounds: rounds, Share: 1}
	var err error
	if text := os.Getenv("KEYFILL_BENCH_ROUNDS"); text != "" {
		if r.Rounds, err = strconv.Atoi(text); err != nil || r.Rounds < 1 {
			t.Fatalf("KEYFILL_BENCH_ROUNDS is a number from 1 on, not %q", text)
		}
	}
	if text := os.Getenv("KEYFILL_BENCH_ONLY"); text != "" {
		if r.Only, err = regexp.Compile(text); err != nil {
			t.Fatalf("KEYFILL_BENCH_ONLY: %v", err)
		}
	}
	return r
}

// TestFigures measures all groups, prints the table and writes it where it belongs.
// Without KEYFILL_BENCH=1 it shows that everything is measured at all: what depends on
// a clock is not looked at.
func TestFigures(t *testing.T) {
	r, measures := newRun(t)
	where, err := machine.Describe()
	if err != nil {
		t.Fatal(err)
	}
	report := &figures.Report{Machine: where, Rounds: r.Rounds}
	plain := map[string]func(figures.Run) ([]figures.Figure, error){
		"null": figures.Statements, "keys": figures.Keys, "compile": figures.Compile, "cache": figures.Cache,
	}
	for _, group := range []string{"null", "keys", "compile", "cache"} {
		t.Run(group, func(t *testing.T) {
			add(t, r, report, group, func() ([]figures.Figure, error) { return plain[group](r) })
		})
	}
	t.Run("blocked", func(t *testing.T) {
		add(t, r, report, "blocked", func() (all []figures.Figure, err error) {
			all, report.Locks, err = figures.Blocked(r)
			return all, err
		})
	})
	t.Run("size", func(t *testing.T) {
		add(t, r, report, "size", func() (all []figures.Figure, err error) {
			all, report.Sizes, err = figures.Size("../../auto/mysql", t.TempDir())
			return all, err
		})
	})
	for _, e := range engines.All() {
		t.Run(e.Name, func(t *testing.T) {
			add(t, r, report, "engines", func() ([]figures.Figure, error) {
				connector, err := e.Connector(t)
				if err != nil {
					return nil, err
				}
				all, version, err := figures.Rows(t.Context(), r, e, connector)
				report.Versions = append(report.Versions, version)
				return all, err
			})
		})
	}
	for _, e := range engines.All() {
		if e.Name == "MariaDB, interpolateParams" {
			continue // these statements have no arguments
		}
		t.Run(e.Name+", selects", func(t *testing.T) {
			add(t, r, report, "selects", func() ([]figures.Figure, error) {
				connector, err := e.Connector(t)
				if err != nil {
					return nil, err
				}
				return figures.Selects(t.Context(), r, e, connector)
			})
		})
	}
	for _, e := range engines.All() {
		if e.Name == "MariaDB, interpolateParams" {
			continue
		}
		t.Run(e.Name+", kept", func(t *testing.T) {
			add(t, r, report, "kept", func() ([]figures.Figure, error) {
				connector, err := e.Connector(t)
				if err != nil {
					return nil, err
				}
				return figures.Kept(t.Context(), r, e, connector)
			})
		})
	}
	for _, e := range engines.All() {
		if e.Name == "MariaDB, interpolateParams" {
			continue
		}
		t.Run(e.Name+", starts", func(t *testing.T) {
			add(t, r, report, "starts", func() ([]figures.Figure, error) {
				connector, err := e.Connector(t)
				if err != nil {
					return nil, err
				}
				return figures.Starts(t.Context(), r, e, connector)
			})
		})
	}
	for _, e := range engines.All() {
		if e.Name == "MariaDB, interpolateParams" {
			continue
		}
		t.Run(e.Name+", numbers", func(t *testing.T) {
			add(t, r, report, "numbers", func() ([]figures.Figure, error) {
				connector, err := e.Connector(t)
				if err != nil {
					return nil, err
				}
				return figures.Numbers(t.Context(), r, e, connector)
			})
		})
	}
	for _, e := range engines.PostgreSQLs() {
		t.Run(e.Name+", roles", func(t *testing.T) {
			add(t, r, report, "roles", func() ([]figures.Figure, error) {
				connector, err := e.Connector(t)
				if err != nil {
					return nil, err
				}
				return figures.Roles(t.Context(), r, e, connector)
			})
		})
	}
	for i, e := range engines.PostgreSQLs() {
		t.Run(e.Name+", proofs", func(t *testing.T) {
			add(t, r, report, "proofs", func() ([]figures.Figure, error) {
				connector, err := e.Connector(t)
				if err != nil {
					return nil, err
				}
				return figures.Proofs(t.Context(), r, e, connector, []float64{1000, 3000}[i])
			})
		})
	}
	if measures {
		write(t, r, report)
	}
}

// add measures a group that is wanted.
func add(t *testing.T, r figures.Run, report *figures.Report, group string, measure func() ([]figures.Figure, error)) {
	if !r.Wants(group) {
		t.Skipf("KEYFILL_BENCH_ONLY does not match %s", group)
	}
	all, err := measure()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatal("nothing was measured")
	}
	report.Add(group, all)
}

// write prints the table and writes the files. The page gets a whole run on a quiet
// machine alone.
func write(t *testing.T, r figures.Run, report *figures.Report) {
	if err := report.AddVersions(); err != nil {
		t.Error(err)
	}
	text := report.Markdown()
	fmt.Print(text)
	for _, f := range report.Unmet() {
		fmt.Printf("not met: %s\n", f.What)
	}
	if file := os.Getenv("KEYFILL_BENCH_JSON"); file != "" {
		if err := page.WriteJSON(file, report); err != nil {
			t.Error(err)
		}
	}
	file := os.Getenv("KEYFILL_BENCH_PAGE")
	switch whole := r.Only == nil && r.Rounds >= wholeRounds && !t.Failed(); {
	case file == "":
	case !whole:
		fmt.Printf("%s stays as it is: it shows whole runs of %d rounds or more\n", file, wholeRounds)
	case !report.Machine.Quiet():
		fmt.Printf("%s stays as it is: it shows runs on a quiet machine, and the load was %.2f\n", file, report.Machine.Load)
	default:
		if err := page.Write(file, "bench", text); err != nil {
			t.Error(err)
		}
	}
}
