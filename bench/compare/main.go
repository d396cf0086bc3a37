package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/keyfill/keyfill/bench/figures"
	"github.com/keyfill/keyfill/internal/stats"
)

func main() {
	c := comparison{}
	flag.StringVar(&c.base, "base", "", "the commit to compare with")
	flag.IntVar(&c.rounds, "rounds", 7, "how often each program has its turn; six or more have an interval")
	flag.StringVar(&c.only, "only", "", "a regular expression of groups: null, keys, compile, cache, blocked, size, engines, selects, proofs; empty takes all")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := c.run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// comparison holds what the flags ask for, and the folders of the two trees.
type comparison struct {
	base, only string
	rounds     int

	tree    string // the working tree
	scratch string // the folder for BASE, the programs and the files with figures
}

func (c *comparison) run(ctx context.Context) (err error) {
	if c.base == "" || c.rounds < 1 || flag.NArg() > 0 {
		return errors.New("name one commit with -base, and one round or more with -rounds")
	}
	out, err := exec.Command("git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		return fmt.Errorf("git rev-parse: %w", err)
	}
	c.tree = string(out[:len(out)-1])
	if c.scratch, err = os.MkdirTemp("", "keyfill-compare-"); err != nil {
		return err
	}
	defer os.RemoveAll(c.scratch)
	base := filepath.Join(c.scratch, "base")
	if err := c.command(ctx, c.tree, nil, "git", "worktree", "add", "--quiet", "--detach", base, c.base); err != nil {
		return err
	}
	defer func() {
		// The worktree is removed even after an interrupt.
		err = errors.Join(err, c.command(context.WithoutCancel(ctx), c.tree, nil, "git", "worktree", "remove", "--force", base))
	}()
	programs := []program{{"base", base}, {"tree", c.tree}, {"again", c.tree}}
	own, err := c.buildBase(ctx, programs[0])
	if err != nil {
		return err
	}
	if err := c.build(ctx, programs[1]); err != nil {
		return err
	}
	rounds := map[string][]map[string]figures.Figure{}
	for round := range c.rounds {
		for _, i := range stats.Order(round, len(programs)) {
			got, err := c.measure(ctx, programs[i])
			if err != nil {
				return fmt.Errorf("%s: %w", programs[i].name, err)
			}
			rounds[programs[i].name] = append(rounds[programs[i].name], got)
		}
		fmt.Fprintf(os.Stderr, "round %d of %d\n", round+1, c.rounds)
	}
	all, err := differences(rounds["base"], rounds["tree"], rounds["again"], own)
	if err != nil {
		return err
	}
	return report(os.Stdout, all)
}

// buildBase builds the benchmarks of the working tree with the packages of BASE. If they do
// not compile with these packages, it builds the benchmarks of BASE, and own is true. An
// adapter that compiles with the packages of BASE adds figures to its benchmarks.
func (c *comparison) buildBase(ctx context.Context, base program) (own bool, err error) {
	folder := filepath.Join(base.tree, "bench")
	if err := os.RemoveAll(folder); err != nil {
		return false, err
	}
	if err := os.CopyFS(folder, os.DirFS(filepath.Join(c.tree, "bench"))); err != nil {
		return false, err
	}
	if c.build(ctx, base) == nil {
		return false, nil
	}
	adapters, err := filepath.Glob(filepath.Join(c.tree, "bench", "compare", "testdata", "*"))
	if err != nil {
		return false, err
	}
	for _, adapter := range adapters {
		if err := c.ownBenchmarks(ctx, base, adapter); err != nil {
			return false, err
		}
		if c.build(ctx, base) == nil {
			fmt.Fprintf(os.Stderr, "BASE is measured by its own benchmarks and those of %s, since the working tree's do not compile with its packages\n", adapter)
			return true, nil
		}
	}
	if err := c.ownBenchmarks(ctx, base, ""); err != nil {
		return false, err
	}
	fmt.Fprintln(os.Stderr, "BASE is measured by its own benchmarks, since the working tree's do not compile with its packages")
	return true, c.build(ctx, base)
}

// ownBenchmarks puts BASE's own benchmarks into its tree, and copies the files of an
// adapter over them, unless its folder is empty.
func (c *comparison) ownBenchmarks(ctx context.Context, base program, adapter string) error {
	folder := filepath.Join(base.tree, "bench")
	if err := os.RemoveAll(folder); err != nil {
		return err
	}
	if err := c.command(ctx, base.tree, nil, "git", "checkout", "--quiet", "HEAD", "--", "bench"); err != nil || adapter == "" {
		return err
	}
	files := os.DirFS(adapter)
	return fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(folder, name), text, 0o666)
	})
}

// build builds the benchmarks of a tree.
func (c *comparison) build(ctx context.Context, p program) error {
	if err := c.command(ctx, p.folder(), []string{"GOWORK=off"}, "go", "test", "-c", "-o", c.binary(p), "."); err != nil {
		return fmt.Errorf("%s: the benchmarks do not compile: %w", p.name, err)
	}
	return nil
}

// program is the name of a test binary, and the tree whose benchmarks it holds.
type program struct{ name, tree string }

// folder returns the folder of the benchmarks. The benchmarks run there so that they find
// the other files of the tree.
func (p program) folder() string { return filepath.Join(p.tree, "bench", "figures") }

// binary returns the path of a program. The first and the second program of the working
// tree are the same file.
func (c *comparison) binary(p program) string {
	if p.tree == c.tree {
		return filepath.Join(c.scratch, "tree.test")
	}
	return filepath.Join(c.scratch, "base.test")
}

// measure runs a program for one round, and returns its figures by their names.
func (c *comparison) measure(ctx context.Context, p program) (map[string]figures.Figure, error) {
	file := filepath.Join(c.scratch, "figures.json")
	err := c.command(ctx, p.folder(), []string{
		"KEYFILL_BENCH=1", "KEYFILL_BENCH_ROUNDS=" + strconv.Itoa(roundsOfTurn), "KEYFILL_BENCH_ONLY=" + c.only,
		"KEYFILL_BENCH_JSON=" + file, "KEYFILL_TEST_REQUIRE=1",
	}, c.binary(p), "-test.run", "^TestFigures$", "-test.timeout", "1h")
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var r figures.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, err
	}
	all := map[string]figures.Figure{}
	for _, f := range r.Figures {
		all[f.Group+": "+f.What+" / "+f.Against] = f
	}
	return all, nil
}

// roundsOfTurn is how many rounds a figure has in one turn of a program.
const roundsOfTurn = 3

// command runs a command, and shows what it printed if it fails.
func (c *comparison) command(ctx context.Context, folder string, environment []string, name string, args ...string) error {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), environment...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", filepath.Base(name), err, out)
	}
	return nil
}
