//go:build unix

package keyfillpgx_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill/internal/stats"
	"github.com/keyfill/keyfill/policy"
)

var writes = flag.Bool("write", false, "TestSpeed measures whole and writes the table of docs/performance.md")

// work is what a program does n times: plain brings its own keys.
type work struct {
	what          string
	times         int // in a turn
	plain, filled func(ctx context.Context, db handle) error
}

// inserts returns the work of one INSERT, by a way that gets a text and its arguments.
func inserts(what string, times int, run func(ctx context.Context, db handle, sql string, args ...any) error) work {
	return work{what, times,
		func(ctx context.Context, db handle) error {
			id, err := uuid.NewV7()
			if err != nil {
				return err
			}
			return run(ctx, db, "INSERT INTO t (a, id) VALUES ($1, $2) RETURNING id", 1, id)
		},
		func(ctx context.Context, db handle) error {
			return run(ctx, db, "INSERT INTO t (a) VALUES ($1) RETURNING id", 1)
		}}
}

// batchRows and copyRows are how many rows a batch and a COPY of the measurement have.
const batchRows, copyRows = 10, 1000

// works are what is measured.
func works() []work {
	passed := func(ctx context.Context, db handle) error {
		var one int
		return db.QueryRow(ctx, "SELECT a FROM other WHERE a = $1", 1).Scan(&one)
	}
	copied := func(columns []string, row func() ([]any, error)) func(context.Context, handle) error {
		return func(ctx context.Context, db handle) error {
			_, err := db.CopyFrom(ctx, pgx.Identifier{"t"}, columns, pgx.CopyFromSlice(copyRows, func(int) ([]any, error) { return row() }))
			return err
		}
	}
	return []work{
		{"a SELECT that does not concern keyfill", 400, passed, passed},
		inserts("an INSERT by Exec", 300, func(ctx context.Context, db handle, sql string, args ...any) error {
			_, err := db.Exec(ctx, sql, args...)
			return err
		}),
		inserts("an INSERT by QueryRow, which reads the key", 300, func(ctx context.Context, db handle, sql string, args ...any) error {
			var id uuid.UUID
			return db.QueryRow(ctx, sql, args...).Scan(&id)
		}),
		{fmt.Sprintf("a batch of %d INSERTs", batchRows), 80,
			func(ctx context.Context, db handle) error {
				b := &pgx.Batch{}
				for range batchRows {
					id, err := uuid.NewV7()
					if err != nil {
						return err
					}
					b.Queue("INSERT INTO t (a, id) VALUES ($1, $2)", 1, id)
				}
				return db.SendBatch(ctx, b).Close()
			},
			func(ctx context.Context, db handle) error {
				b := &pgx.Batch{}
				for range batchRows {
					b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
				}
				return db.SendBatch(ctx, b).Close()
			}},
		{fmt.Sprintf("a CopyFrom of %d rows", copyRows), 5,
			copied([]string{"a", "id"}, func() ([]any, error) {
				id, err := uuid.NewV7()
				return []any{1, id}, err
			}),
			copied([]string{"a"}, func() ([]any, error) { return []any{1}, nil })},
	}
}

// turn is the time that this process has used, and that has passed, for one time of a
// work, in nanoseconds.
func turn(t *testing.T, times int, db handle, run func(context.Context, handle) error) (cpu, wall float64) {
	t.Helper()
	runtime.GC()
	begun, before := time.Now(), used(t)
	for range times {
		if err := run(t.Context(), db); err != nil {
			t.Fatal(err)
		}
	}
	return float64(used(t)-before) / float64(times), float64(time.Since(begun)) / float64(times)
}

// used is the CPU time of this process: the server is another one.
func used(t *testing.T) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// TestSpeed measures keyfillpgx beside pgx, whose program makes its own keys with
// google/uuid. The variants take turns on one connection each. In a test it measures
// little, and looks only at whether both have stored the same. The flag -write writes
// docs/performance.md.
func TestSpeed(t *testing.T) {
	rounds, share := 2, 20
	if *writes {
		rounds, share = 41, 1
	}
	p := open(t, keyed(policy.Source{Kind: policy.KindUUIDv7}), "CREATE TABLE t (id UUID PRIMARY KEY, a INT); CREATE TABLE other (a INT); INSERT INTO other VALUES (1)",
		func(c *pgxpool.Config) { c.MaxConns = 1 })
	var table strings.Builder
	for _, w := range works() {
		times := max(w.times/share, 1)
		var cpu, wall [3][]float64 // plain, filled, plain again
		for round := range rounds + 1 {
			if *writes {
				exec(t, p.plain, "TRUNCATE t")
			}
			for _, i := range stats.Order(round, 3) {
				db, run := handle(p.plain), w.plain
				if i == 1 {
					db, run = p.filled, w.filled
				}
				c, passed := turn(t, times, db, run)
				if round > 0 { // the first one warms up
					cpu[i], wall[i] = append(cpu[i], c), append(wall[i], passed)
				}
			}
		}
		ours, again, clock := stats.Of(stats.Ratios(cpu[1], cpu[0])), stats.Of(stats.Ratios(cpu[2], cpu[0])), stats.Of(stats.Ratios(wall[1], wall[0]))
		fmt.Fprintf(&table, "| %s | %.1f µs | %.2fx | %.2fx to %.2fx | %.2f to %.2f | %.2fx |\n", w.what,
			stats.Of(cpu[0]).Median/1000, ours.Median, ours.Low, ours.High, again.Low, again.High, clock.Median)
	}
	if got := column(t, p.plain, "SELECT (count(*) > 0 AND count(*) = count(DISTINCT id) AND count(*) = count(a))::text FROM t"); got[0] != "true" {
		t.Error("rows are missing, or have no key of their own")
	}
	t.Log("\n" + table.String())
	if *writes {
		writeSpeed(t, p, rounds, table.String())
	}
}

// writeSpeed writes the table into the page.
func writeSpeed(t *testing.T, p *place, rounds int, table string) {
	t.Helper()
	const page, begin, end = "../docs/performance.md", "<!-- keyfillpgx: TestSpeed -->\n", "<!-- end of keyfillpgx -->"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, found := strings.Cut(string(text), begin)
	_, tail, ended := strings.Cut(rest, end)
	if !found || !ended {
		t.Fatalf("%s has not the lines %q and %q", page, begin, end)
	}
	load, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		t.Fatal(err)
	}
	server := column(t, p.plain, "SHOW server_version")
	measured := fmt.Sprintf("Measured %s; %d processors, %s/%s, load %s; %s; PostgreSQL %s. %d rounds.\n\n",
		time.Now().UTC().Format("2006-01-02 15:04 UTC"), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH,
		strings.Fields(string(load))[0], runtime.Version(), server[0], rounds)
	heads := "| what | CPU of pgx | CPU of keyfillpgx | 95 % of it | A/A | time |\n|---|---|---|---|---|---|\n"
	if err := os.WriteFile(page, []byte(head+begin+measured+heads+table+end+tail), 0o644); err != nil {
		t.Fatal(err)
	}
}
