package joined_test

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/keysource"
)

// seriesSize stands for the million of the article.
const seriesSize = 10

// seriesWorld is a way to share series among processes.
type seriesWorld interface {
	next(process int) (int64, error)
	end(process int) // it is killed
}

// meyer is a translation of get_next_key from "Surrogate Primary Key
// Generation" (Gary Meyer, 1994), statement by statement; spid is the process,
// and sysprocesses a table of our own.
type meyer struct{ db *sql.DB }

var errEmpty = errors.New("next_key table is empty")

func newMeyer(t *testing.T, s *harness.Scratch) seriesWorld {
	t.Helper()
	harness.Exec(t, s.Raw, "CREATE TABLE next_key (spid INT NOT NULL, next_key INT NOT NULL)")
	harness.Exec(t, s.Raw, "CREATE UNIQUE INDEX next_key_spid ON next_key (spid)")
	harness.Exec(t, s.Raw, "CREATE TABLE sysprocesses (spid INT NOT NULL)")
	harness.Exec(t, s.Raw, "INSERT INTO next_key (spid, next_key) VALUES (0, 0)")
	return meyer{s.Raw}
}

func (a meyer) end(process int) {
	if _, err := a.db.Exec(fmt.Sprintf("DELETE FROM sysprocesses WHERE spid = %d", process)); err != nil {
		panic(err)
	}
}

func (a meyer) next(process int) (key int64, err error) {
	if err := a.login(process); err != nil {
		return 0, err
	}
	tx, err := a.db.Begin()
	if err != nil {
		return 0, err
	}
	defer tx.Rollback()
	key, err = getNextKey(tx, process)
	if err != nil && err != errEmpty {
		return 0, err
	}
	return key, errors.Join(tx.Commit(), err)
}

func (a meyer) login(process int) error {
	_, err := a.db.Exec(fmt.Sprintf("DELETE FROM sysprocesses WHERE spid = %d", process))
	if err == nil {
		_, err = a.db.Exec(fmt.Sprintf("INSERT INTO sysprocesses (spid) VALUES (%d)", process))
	}
	return err
}

func getNextKey(tx *sql.Tx, spid int) (int64, error) {
	var key int64
	var rowcount int64 = 1
	err := tx.QueryRow(fmt.Sprintf("SELECT next_key + 1 FROM next_key WHERE spid = %d", spid)).Scan(&key)
	if err == sql.ErrNoRows {
		rowcount, err = 0, nil
	}
	if err != nil {
		return 0, err
	}
	// @next_key is NULL where there is no row, and the comparison not true.
	if rowcount == 1 && rowcount <= (key-1)%seriesSize {
		_, err := tx.Exec(fmt.Sprintf("UPDATE next_key SET next_key = %d WHERE spid = %d", key, spid))
		return key, err
	}
	if _, err := tx.Exec("UPDATE next_key SET spid = spid"); err != nil {
		return 0, err
	}
	var old int64
	err = tx.QueryRow("SELECT spid, next_key + 1 FROM next_key WHERE NOT spid IN (SELECT spid FROM sysprocesses)"+
		" ORDER BY next_key LIMIT 1").Scan(&old, &key)
	if err == nil {
		_, err = tx.Exec(fmt.Sprintf("UPDATE next_key SET next_key = %d, spid = %d WHERE spid = %d", key, spid, old))
		return key, err
	}
	if err != sql.ErrNoRows {
		return 0, err
	}
	if _, err := tx.Exec(fmt.Sprintf("DELETE FROM next_key WHERE spid = %d", spid)); err != nil {
		return 0, err
	}
	var most sql.NullInt64
	if err := tx.QueryRow("SELECT MAX(next_key) FROM next_key").Scan(&most); err != nil {
		return 0, err
	}
	if !most.Valid {
		return 0, errEmpty
	}
	key = (most.Int64-1)/seriesSize + 1
	key = key*seriesSize + 1
	_, err = tx.Exec(fmt.Sprintf("INSERT INTO next_key (spid, next_key) VALUES (%d, %d)", spid, key))
	return key, err
}

// recycled is keyfill's replacement.
type recycled struct {
	t       *testing.T
	s       *harness.Scratch
	sources map[int]*counting.Recycled
}

func newRecycled(t *testing.T, s *harness.Scratch) seriesWorld {
	harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
	return &recycled{t: t, s: s, sources: map[int]*counting.Recycled{}}
}

func (r *recycled) next(process int) (int64, error) {
	if r.sources[process] == nil {
		r.sources[process], _ = seriesSource(r.t, r.s, seriesSize, 1, time.Hour)
	}
	return r.sources[process].Reserve(context.Background(), 1)
}

func (r *recycled) end(process int) {
	delete(r.sources, process)
	harness.Exec(r.t, r.s.Raw, "UPDATE keyfill_series SET leased_until = '2001-01-01'") // all leases run out meanwhile
}

// seriesOf returns the options of an owner of its own.
func seriesOf(size int64, lease time.Duration) series.Options {
	q := harness.Orders
	q.EnsureSchema = true
	return series.Options{Sequence: q, Size: size, Lease: lease, Owner: rand.Text()}
}

// seriesSource returns a source as a process has it, with a pool of its own.
func seriesSource(t *testing.T, s *harness.Scratch, size, block int64, lease time.Duration) (*counting.Recycled, *sql.DB) {
	t.Helper()
	db := store.Pool(s.Dialect, s.Connector)
	t.Cleanup(func() { db.Close() })
	rows := series.New(store.New(s.Dialect, db), seriesOf(size, lease))
	src, err := counting.NewRecycled(counting.RecycledOptions{
		Store: rows, Size: size, Lease: lease, Block: block, MaxKey: rows.MaxKey,
	}, keysource.Env{StoreWait: harness.Limit}) // whose attempts are given up late: one that has committed leaves a gap
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = src.Close(ctx) // a database that is gone takes nothing back
	})
	return src, db
}

// seriesFaults are what goes wrong with the article's procedure.
var seriesFaults = []struct {
	name string
	run  func(w seriesWorld, draw func(process, n int) bool)
	// how the article's procedure fails
	err    error // nil: one of the driver's, or none
	twice  bool  // a key comes twice
	clash  bool  // the unique index is violated
	series int64 // rows that are left of keyfill_series
}{
	{
		name: "one process through three series",
		run:  func(_ seriesWorld, draw func(int, int) bool) { draw(1, 3*seriesSize) },
		err:  errEmpty,
		// Used up to the last integer, and not known to be so before the next
		// key is asked for.
		series: 1,
	},
	{
		name: "the owner of the highest series finishes first",
		run: func(_ seriesWorld, draw func(int, int) bool) {
			_ = draw(1, 3) && draw(2, seriesSize) && draw(2, seriesSize)
		},
		twice:  true,
		series: 2,
	},
	{
		name: "an abandoned series is used up",
		run: func(w seriesWorld, draw func(int, int) bool) {
			if draw(1, 1) && draw(2, 1) && draw(1, seriesSize-1) {
				w.end(1)
				draw(3, 1)
			}
		},
		twice:  true,
		series: 1, // of process 2, whose lease has run out too, and now of 3
	},
	{
		name: "the own series is used up while another lies abandoned",
		run: func(w seriesWorld, draw func(int, int) bool) {
			if draw(1, 1) && draw(2, 3) && draw(1, seriesSize-1) {
				w.end(2)
				draw(1, 1)
			}
		},
		clash:  true,
		series: 1,
	},
}

// TestSeriesArticleFaults: what breaks the article's procedure does not break
// ours.
func TestSeriesArticleFaults(t *testing.T) {
	t.Parallel()
	for _, f := range seriesFaults {
		t.Run(f.name, func(t *testing.T) {
			harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
				_, twice, err := drawAll(newMeyer(t, s), f.run)
				if twice != f.twice {
					t.Errorf("the article's procedure: a key came twice: %t, want %t", twice, f.twice)
				}
				if broken := err != nil; broken != (f.err != nil || f.clash) || f.err != nil && !errors.Is(err, f.err) {
					t.Errorf("the article's procedure: %v", err)
				}
				if rows := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM next_key"); f.err == errEmpty && rows != 0 {
					t.Errorf("the article's procedure leaves %d rows", rows)
				}
				keys, twice, err := drawAll(newRecycled(t, s), f.run)
				if twice || err != nil {
					t.Errorf("keys %v, one of them twice: %t, %v", keys, twice, err)
				}
				harness.Eventually(t, func() error { // the next integers are fetched, and a series given up, in the background
					if rows := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM keyfill_series"); rows != f.series {
						return fmt.Errorf("%d rows of series after keys %v, want %d", rows, keys, f.series)
					}
					return nil
				})
			})
		})
	}
}

// drawAll draws keys until one comes twice or none does.
func drawAll(w seriesWorld, run func(seriesWorld, func(process, n int) bool)) (keys []int64, twice bool, err error) {
	seen := map[int64]bool{}
	run(w, func(process, n int) bool {
		for range n {
			key, e := w.next(process)
			if err = e; e != nil {
				return false
			}
			twice = twice || seen[key]
			seen[key] = true
			keys = append(keys, key)
		}
		return true
	})
	return keys, twice, err
}
