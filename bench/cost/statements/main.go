// Command statements executes INSERTs through keyfill on a driver that does nothing, for
// the command cost, which counts what they take.
//
//	statements -way=block -n=1000
//
// executes 1000 statements and ends. Without -n it reads numbers, one a line, executes so
// many statements for each, and answers with a line: the nanoseconds of the processor and
// the allocations that they took.
package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/bench/nulldriver"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// ways are the statements to execute, by the names that the command cost uses.
var ways = map[string]struct {
	text     string
	prepared bool
}{
	"block":          {"INSERT INTO invoices (customer, city, sum) VALUES (?, ?, ?)", false},
	"v7":             {"INSERT INTO orders (customer, city, sum) VALUES (?, ?, ?)", false},
	"prepared block": {"INSERT INTO invoices (customer, city, sum) VALUES (?, ?, ?)", true},
}

func main() {
	way := flag.String("way", "block", "the statement: block, v7 or prepared block")
	n := flag.Int("n", 0, "execute so many and end")
	flag.Parse()
	if err := run(*way, *n); err != nil {
		fmt.Fprintln(os.Stderr, "statements:", err)
		os.Exit(1)
	}
}

// run executes n statements, or as many as the numbers on standard input ask for.
func run(way string, n int) error {
	debug.SetGCPercent(-1) // a garbage collection would count as a part of a statement
	db, exec, err := open(way)
	if err != nil {
		return err
	}
	defer db.Close()
	if err := repeat(exec, 200); err != nil { // the first statements fill keyfill's caches and are not measured
		return err
	}
	if n > 0 {
		return repeat(exec, n)
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		n, err := strconv.Atoi(in.Text())
		if err != nil {
			return err
		}
		took, allocs, err := measure(exec, n)
		if err != nil {
			return err
		}
		fmt.Println(took.Nanoseconds(), allocs)
	}
	return in.Err()
}

// open opens a database in which the statement of the named way is filled.
func open(name string) (db *sql.DB, exec func() error, err error) {
	way, ok := ways[name]
	if !ok {
		return nil, nil, fmt.Errorf("there is no way %q", name)
	}
	c, err := keyfill.WrapConnector(&nulldriver.Driver{}, keyfill.Options{
		Policy: &policy.Config{Dialect: "mysql", SQLMode: "default", Tables: map[string]policy.Table{
			"orders":   {Column: "id"},
			"invoices": {Column: "id", InPlace: &policy.Source{Kind: policy.KindSequence}},
		}},
		Reservers: func(string) keysource.Reserver { return new(instantStore) },
	})
	if err != nil {
		return nil, nil, err
	}
	db = sql.OpenDB(c)
	db.SetMaxOpenConns(1)
	ctx, args := context.Background(), []any{"Ada", "London", int64(7)}
	if !way.prepared {
		return db, func() error { _, err := db.ExecContext(ctx, way.text, args...); return err }, nil
	}
	stmt, err := db.PrepareContext(ctx, way.text) //nolint:sqlclosecheck // closed with the database
	if err != nil {
		return nil, nil, errors.Join(err, db.Close())
	}
	return db, func() error { _, err := stmt.ExecContext(ctx, args...); return err }, nil
}

// repeat executes a statement n times.
func repeat(exec func() error, n int) error {
	for range n {
		if err := exec(); err != nil {
			return err
		}
	}
	return nil
}

// measure returns the time of the processor and the allocations of n statements.
func measure(exec func() error, n int) (took time.Duration, allocs uint64, err error) {
	runtime.GC()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	began, err := cpuTime()
	if err != nil {
		return 0, 0, err
	}
	if err := repeat(exec, n); err != nil {
		return 0, 0, err
	}
	ended, err := cpuTime()
	runtime.ReadMemStats(&after)
	return ended - began, after.Mallocs - before.Mallocs, err
}

// cpuTime returns the time of the processor that the process has taken.
func cpuTime() (time.Duration, error) {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0, err
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano()), nil
}

// instantStore is a store in memory that answers at once.
type instantStore struct{ used atomic.Int64 }

// Reserve reserves the next n integers.
func (s *instantStore) Reserve(_ context.Context, n, _ int64) (keysource.Reservation, error) {
	return keysource.Reservation{First: s.used.Add(n) - n + 1}, nil
}

// Advance does nothing, since the program inserts no keys of its own.
func (s *instantStore) Advance(context.Context, int64) error { return nil }
