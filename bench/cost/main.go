// Command cost measures what the statistics cost a filled INSERT on a driver that does
// nothing. It builds the program statements twice: as it is, and with empty bodies for the
// functions that count and that look for a trace. It compares the cost of the two in two
// ways:
//
//   - instructions, which cachegrind of valgrind counts: their number does not depend on
//     what else the machine does. The number of instructions in Go's runtime varies a
//     little; the figure uses the number of the second build for both builds, since the
//     statistics allocate nothing;
//   - the time of the processor, measured for both builds in turns, since an atomic
//     instruction takes longer than other instructions.
//
// It fails if a statement takes 2 % more instructions, or one more allocation.
//
//	go run ./cost [-rounds 41]
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"text/tabwriter"

	"github.com/keyfill/keyfill/internal/stats"
)

// most is the greatest share of a filled statement that the statistics may take.
const most = 0.02

// wayNames are the statements of the program.
var wayNames = []string{"block", "v7", "prepared block"}

func main() {
	rounds := flag.Int("rounds", 41, "turns of each build for the time of the processor; 0 leaves that out")
	flag.Parse()
	if err := run(*rounds); err != nil {
		fmt.Fprintln(os.Stderr, "cost:", err)
		os.Exit(1)
	}
}

// run measures all statements and prints a table.
func run(rounds int) (err error) {
	folder, err := os.MkdirTemp("", "keyfill-cost-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	with, without, err := build("..", folder)
	if err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "statement\tinstructions\twithout\tthe statistics\tprocessor, ns\twithout\tthe statistics\tallocations\twithout")
	var failed error
	for _, way := range wayNames {
		a, err := instructions(with, way)
		if err != nil {
			return err
		}
		b, err := instructions(without, way)
		if err != nil {
			return err
		}
		share := (a.own - b.own) / b.all
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%+.2f %%", way, b.all+a.own-b.own, b.all, 100*share)
		if share > most {
			failed = errors.Join(failed, fmt.Errorf("%s takes %.2f %% more instructions, at most %.0f %% are allowed", way, 100*share, 100*most))
		}
		if rounds > 0 {
			t, err := times(with, without, way, rounds)
			if err != nil {
				return err
			}
			fmt.Fprintf(w, "\t%.0f\t%.0f\t%+.1f %% (%+.1f to %+.1f)\t%.2f\t%.2f", stats.Of(t.with).Median, stats.Of(t.without).Median,
				100*(t.ratio.Median-1), 100*(t.ratio.Low-1), 100*(t.ratio.High-1), t.allocsWith, t.allocsWithout)
			if t.allocsWith > t.allocsWithout+0.01 {
				failed = errors.Join(failed, fmt.Errorf("%s takes %.2f allocations, without the statistics %.2f", way, t.allocsWith, t.allocsWithout))
			}
		}
		fmt.Fprintln(w)
	}
	return errors.Join(w.Flush(), failed)
}

// build builds the program statements as it is, and without the functions that count. The
// folder of the module is below root.
func build(root, folder string) (with, without string, err error) {
	overlay, err := writeOverlay(root, folder)
	if err != nil {
		return "", "", err
	}
	with, without = filepath.Join(folder, "with"), filepath.Join(folder, "without")
	for path, more := range map[string][]string{with: nil, without: {"-overlay", overlay}} {
		args := append([]string{"build", "-o", path}, more...)
		if out, err := exec.Command("go", append(args, "./cost/statements")...).CombinedOutput(); err != nil {
			return "", "", fmt.Errorf("go %v: %w\n%s", args, err, out)
		}
	}
	return with, without, nil
}
