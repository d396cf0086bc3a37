package stores_test

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// jobVariable is the environment variable that holds a job: the test binary does it then
// instead of running tests.
const jobVariable = "KEYFILL_STORES_JOB"

// job says what a process does until its standard input ends.
type job struct {
	Number  int64 // of the process, counted from 1: part of the numbers of its draws
	Journal string
	Driver  string // of the application's database
	DSN     string
	Dialect string
	Stores  map[string]policy.Store
	Kinds   []int
	Hands   int           // connections, each of which draws and inserts
	Pause   time.Duration // after each step
	Most    int           // the most keys that are drawn at once

	// Rate makes the process draw so many keys a second of each of Kinds, and do nothing
	// else. Its policy is Policy then, and Tables is which of its tables: see ratedTable.
	Rate   int
	Policy *policy.Config
	Tables int

	// Plain makes the process ask by the plain driver, on each of so many connections, and
	// do nothing else.
	Plain int
}

const (
	// patience bounds a step. It is longer than a fault lasts.
	patience = 30 * time.Second

	// failurePause follows a step that has failed.
	failurePause = 50 * time.Millisecond
)

// worker is a process at work.
type worker struct {
	job
	db    *sql.DB
	mount *keyfill.Mount
	log   *journal
	draws atomic.Int64

	ahead atomic.Int64 // of its clock, in nanoseconds
	moved atomic.Int64 // how often that was changed

	mu     sync.Mutex // guards parked
	parked []parked
}

// parked is a key that was drawn to be sent later.
type parked struct {
	kind      int
	draw, key int64
	due       time.Time
}

// do does a job and returns the process's exit code.
func do(text string) int {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})))
	w := &worker{}
	err := json.Unmarshal([]byte(text), &w.job)
	if err == nil {
		err = w.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (w *worker) run() error {
	var err error
	if w.log, err = openJournal(w.Journal); err != nil {
		return err
	}
	connector, err := harness.NewConnector(w.Driver, w.DSN)
	if err != nil {
		return err
	}
	if w.Plain > 0 {
		w.db = sql.OpenDB(connector)
		return w.runPlain()
	}
	options := keyfill.Options{Now: w.now, Policy: w.Policy}
	if options.Policy == nil {
		options.Policy = config(w.Dialect, w.Kinds, w.Stores)
	}
	if w.db, err = keyfill.OpenDB(connector, options); err != nil {
		return err
	}
	if w.mount, err = keyfill.From(w.db); err != nil {
		return err
	}
	w.db.SetMaxOpenConns(w.Hands)
	w.db.SetMaxIdleConns(w.Hands)
	ctx, stop := context.WithCancel(context.Background())
	var all sync.WaitGroup
	if w.Rate > 0 {
		for _, k := range w.Kinds {
			all.Go(func() { w.drawAt(ctx, k) })
		}
	} else {
		for range w.Hands {
			all.Go(func() {
				for ctx.Err() == nil {
					w.step(ctx)
				}
			})
		}
	}
	w.obey(ctx, &all)
	stop()
	all.Wait()
	return w.closed()
}

// mysqlCut is what go-sql-driver/mysql says when it closes a connection that was cut, by an
// error of no other name.
const mysqlCut = "bad connection"

// closed closes the database. It notes what is not wrong: a store that is busy takes leases
// back too late, which run out then, and with the many processes of a soak a driver says which
// connections were cut.
func (w *worker) closed() error {
	err := w.db.Close()
	if errors.Is(err, context.DeadlineExceeded) || harness.Soaking() && err != nil && err.Error() == mysqlCut {
		w.log.fail(fmt.Sprintf("the database was closed: %v", err))
		return nil
	}
	return err
}

// obey does what is written on the standard input, until that ends.
func (w *worker) obey(ctx context.Context, all *sync.WaitGroup) {
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		word, value, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "ahead":
			if d, err := time.ParseDuration(value); err == nil {
				w.moved.Add(1)
				w.ahead.Store(int64(d))
				w.moved.Add(1)
			}
		case "probe":
			if n, err := strconv.ParseInt(value, 10, 64); err == nil {
				if w.Plain > 0 {
					all.Go(func() { w.probePlain(ctx, n) })
					continue
				}
				for _, k := range w.Kinds {
					all.Go(func() { w.probe(ctx, k, n) })
				}
			}
		}
	}
}

// now is the clock of the process.
func (w *worker) now() time.Time { return time.Now().Add(time.Duration(w.ahead.Load())) }

// number returns a number that no other draw has.
func (w *worker) number() int64 { return w.Number<<32 | w.draws.Add(1) }

// step draws, or inserts, or sends what was drawn before.
func (w *worker) step(stop context.Context) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	k := w.Kinds[rand.IntN(len(w.Kinds))]
	var err error
	switch what := rand.IntN(10); {
	case k == joined:
		err = w.transaction(ctx, k)
	case what < 3:
		err = w.drawSome(ctx, k)
	case what < 5:
		err = w.sendParked(ctx)
	case what < 8:
		err = w.insert(ctx, k)
	default:
		err = w.transaction(ctx, k)
	}
	pause := w.Pause
	if err != nil {
		w.failed(err)
		pause += failurePause
	}
	select {
	case <-stop.Done():
	case <-time.After(pause):
	}
}

// failed notes the error of a step. A key that is there already breaks the law.
func (w *worker) failed(err error) {
	text := err.Error()
	if strings.Contains(text, "Duplicate entry") || strings.Contains(text, "duplicate key value") && strings.Contains(text, `"t_`) {
		text = law + text
	}
	w.log.fail(text)
}

// drawSome draws keys, some of which are sent later.
func (w *worker) drawSome(ctx context.Context, k int) error {
	n := 1 + rand.IntN(w.Most)
	draw, first, err := w.draw(ctx, k, n)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range []int{0, n / 2, n - 1}[:min(n, 3)] {
		if n < 3 && at > 0 {
			break
		}
		w.parked = append(w.parked, parked{k, draw, first + int64(at), time.Now().Add(rand.N(2 * workerLease))})
	}
	return nil
}

// draw draws keys that follow each other, and returns the number of the draw and the first
// key.
func (w *worker) draw(ctx context.Context, k, n int) (draw, first int64, err error) {
	began, now, moved := time.Now(), w.now(), w.moved.Load()
	if first, err = w.mount.Reserve(ctx, table(k), n); err != nil {
		return 0, 0, err
	}
	draw = w.number()
	w.log.write(record{What: drawn, Kind: uint8(k), Keys: uint32(n), Draw: draw, First: first, Began: began.UnixNano(), Ended: time.Now().UnixNano()})
	if kinds[k].leased && moved%2 == 0 {
		w.checkLease(k, now, moved)
	}
	return draw, first, nil
}

// checkLease reports keys that were drawn after the lease, by the clock of the process. A
// draw that begins after the lease has ended has its keys by an answer of the store that
// came after that. A clock that was moved meanwhile proves nothing.
func (w *worker) checkLease(k int, began time.Time, moved int64) {
	name := table(k) + ".id"
	for _, s := range w.mount.Sources() {
		if s.Source == name && !s.LeaseUntil.IsZero() && !s.LeaseUntil.After(began) && s.LastFetchAt.Before(began) && w.moved.Load() == moved {
			w.log.fail(fmt.Sprintf("%s%s: a draw began %v after the lease had ended", law, kinds[k].name, began.Sub(s.LeaseUntil)))
		}
	}
}

// sendParked stores a key that is due, by an INSERT that brings it. One whose INSERT fails
// may be stored, so it is not sent again.
func (w *worker) sendParked(ctx context.Context) error {
	w.mu.Lock()
	i := slices.IndexFunc(w.parked, func(p parked) bool { return time.Now().After(p.due) })
	if i < 0 {
		w.mu.Unlock()
		return nil
	}
	p := w.parked[i]
	w.parked = slices.Delete(w.parked, i, i+1)
	w.mu.Unlock()
	if _, err := w.db.ExecContext(ctx, w.text(p.kind, 1, true), p.key, p.draw); err != nil {
		return err
	}
	w.log.write(record{What: stored, Kind: uint8(p.kind), Keys: 1, Draw: p.draw, First: p.key, Ended: time.Now().UnixNano()})
	return nil
}

// text returns an INSERT of rows without their keys, or of one row with it.
func (w *worker) text(k, rows int, withKey bool) string {
	text := "INSERT INTO " + table(k) + " (draw) VALUES (?)" + strings.Repeat(", (?)", rows-1)
	if withKey {
		text = "INSERT INTO " + table(k) + " (id, draw) VALUES (?, ?)"
	}
	if w.Dialect != "postgres" {
		return text
	}
	var b strings.Builder
	n := 0
	for _, c := range text {
		if c == '?' {
			n++
			fmt.Fprintf(&b, "$%d", n)
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}

// execer is a *sql.DB or a *sql.Tx.
type execer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// insertInto inserts some rows, and returns what to note when they are there for good.
func (w *worker) insertInto(ctx context.Context, x execer, k int) ([]record, error) {
	rows := 1 + rand.IntN(20)
	began := time.Now()
	draw := w.number()
	args := slices.Repeat([]any{draw}, rows)
	ctx, rec := keyfill.Record(ctx)
	_, err := x.ExecContext(ctx, w.text(k, rows, false), args...)
	keys := rec.Keys(table(k))
	like := record{What: drawn, Kind: uint8(k), Draw: draw, Began: began.UnixNano(), Ended: time.Now().UnixNano()}
	if k != joined { // its numbers come again where they are rolled back
		w.log.write(runs(keys, like)...)
	}
	if err != nil {
		return nil, err
	}
	// The keys of an attempt that was lost with its connection are recorded too.
	keys = slices.DeleteFunc(keys, func(k keyfill.RecordedKey) bool { return k.Outcome != keyfill.Stored })
	if len(keys) != rows {
		return nil, fmt.Errorf("%s%s: %d keys for %d rows", law, kinds[k].name, len(keys), rows)
	}
	like.What = stored
	return runs(keys, like), nil
}

// runs returns keys as runs of keys that follow each other.
func runs(keys []keyfill.RecordedKey, like record) (all []record) {
	for _, key := range keys {
		id, _ := key.Key.(int64)
		if last := len(all) - 1; last >= 0 && all[last].First+int64(all[last].Keys) == id {
			all[last].Keys++
			continue
		}
		one := like
		one.First, one.Keys = id, 1
		all = append(all, one)
	}
	return all
}

func (w *worker) insert(ctx context.Context, k int) error {
	given, err := w.insertInto(ctx, w.db, k)
	w.log.write(given...)
	return err
}

// transaction inserts once or twice, and commits, or rolls back a third of the time.
func (w *worker) transaction(ctx context.Context, k int) error {
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	var all []record
	for range 1 + rand.IntN(2) {
		given, err := w.insertInto(ctx, tx, k)
		if err != nil {
			_ = tx.Rollback() // it fails where the connection is gone
			return err
		}
		all = append(all, given...)
	}
	if rand.IntN(3) == 0 {
		return tx.Rollback()
	}
	if err := tx.Commit(); err != nil {
		return err
	}
	w.log.write(all...)
	return nil
}

// probe asks a source for more than a process ever has in hand, and stores rows, as often
// as that takes. It notes when it has succeeded.
func (w *worker) probe(ctx context.Context, k int, number int64) {
	began := time.Now()
	for ctx.Err() == nil {
		if err := w.probeOnce(ctx, k); err != nil {
			w.failed(err)
			time.Sleep(failurePause)
			continue
		}
		w.log.write(record{What: probed, Kind: uint8(k), Draw: number, Began: began.UnixNano(), Ended: time.Now().UnixNano()})
		return
	}
}

func (w *worker) probeOnce(ctx context.Context, k int) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if k != joined {
		for range 3 {
			if _, _, err := w.draw(ctx, k, block); err != nil {
				return err
			}
		}
	}
	return w.insert(ctx, k)
}

// drawAt draws the keys of a source at the rate of the job, and notes the first one as a
// probe.
func (w *worker) drawAt(ctx context.Context, k int) {
	table := ratedTable(w.Tables, k)
	begun := false
	const parts = 20 // of a second
	tick := time.NewTicker(time.Second / parts)
	defer tick.Stop()
	for {
		for range w.Rate / parts {
			_, err := w.mount.Keys(ctx, table, 1)
			switch {
			case err != nil && ctx.Err() == nil:
				w.log.fail(err.Error())
			case err == nil && !begun:
				begun = true
				w.log.write(record{What: probed, Kind: uint8(k), Draw: 1, Ended: time.Now().UnixNano()})
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
