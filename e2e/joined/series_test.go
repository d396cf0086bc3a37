package joined_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/schema"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/keysource"
)

// TestSeriesKilled: sources begin, draw and end, some by closing, most by losing
// their connections at some moment, with leases that run out all the time. No
// integer is handed out twice. That goes on for a second, and for half a minute with make
// soak.
func TestSeriesKilled(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		first, _ := seriesSource(t, s, 200, 0, 100*time.Millisecond)
		key, err := first.Reserve(context.Background(), 1) // it makes the tables
		if err != nil {
			t.Fatal(err)
		}
		lasts := time.Second
		if harness.Soaking() {
			lasts = 30 * time.Second
		}
		began := time.Now()
		var got harness.Runs
		got.Add(keysource.Reservation{First: key}, 1)
		var taken, lives int64
		var mu sync.Mutex
		var wg sync.WaitGroup
		ends := func() bool { // a busy machine may take more time than that
			mu.Lock()
			defer mu.Unlock()
			enough := taken > 0 && got.Count() >= 100
			return time.Since(began) > lasts && (enough || time.Since(began) > harness.Limit)
		}
		for range 5 {
			wg.Go(func() {
				for own := 0; !ends(); own++ {
					n := seriesLife(t, s, &got, time.Duration(1+own/10))
					mu.Lock()
					taken += n
					lives++
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		count, total := got.Check(t)
		t.Logf("%d lives took over %d series; %d statements got %d keys", lives, taken, count, total)
		if taken == 0 {
			t.Error("no series was taken over")
		}
		if count < 100 {
			t.Errorf("only %d statements", count)
		}
		if spent := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM keyfill_series WHERE next_value > series_last + 1"); spent != 0 {
			t.Errorf("%d series are used beyond their end", spent)
		}
	})
}

// seriesLife is the life of a process, and returns how many series it has taken
// over. It lasts longer by a factor, for a machine too busy to do anything in a short one.
func seriesLife(t *testing.T, s *harness.Scratch, got *harness.Runs, factor time.Duration) int64 {
	src, db := seriesSource(t, s, 200, 0, 100*time.Millisecond)
	ctx, cancel := context.WithTimeout(context.Background(), factor*time.Duration(50+rand.IntN(400))*time.Millisecond)
	defer cancel()
	var threads sync.WaitGroup
	for range 2 {
		threads.Go(func() {
			for ctx.Err() == nil {
				n := 1 + rand.Int64N(20)
				key, err := src.Reserve(ctx, n)
				if err != nil {
					if ctx.Err() == nil && !errors.Is(err, keysource.ErrStoreDown) {
						t.Error(err)
					}
					return
				}
				got.Add(keysource.Reservation{First: key}, n)
				if rand.IntN(10) == 0 {
					time.Sleep(time.Duration(rand.IntN(150)) * time.Millisecond)
				}
			}
		})
	}
	if rand.IntN(3) > 0 {
		time.Sleep(factor * time.Duration(rand.IntN(300)) * time.Millisecond)
		_ = db.Close() // while it is used
		cancel()
	}
	threads.Wait()
	closing, end := context.WithTimeout(context.Background(), time.Second)
	defer end()
	_ = src.Close(closing) // of a database that is closed nothing is given back
	_ = db.Close()         // else its connections stay for a while, and the server has no more
	return src.Stats().Taken
}

// TestSeriesClose: what is left goes back, and the next source begins there; a
// source that is closed twice gives back once.
func TestSeriesClose(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		harness.Exec(t, s.Raw, "INSERT INTO orders (id) VALUES (12)")
		one, _ := seriesSource(t, s, 1000, 100, time.Minute)
		for want := int64(1001); want < 1051; want += 10 {
			if key, err := one.Reserve(ctx, 10); err != nil || key != want {
				t.Fatalf("key %d, %v; want %d, above the key that is there", key, err, want)
			}
		}
		two, _ := seriesSource(t, s, 1000, 100, time.Minute)
		if key, err := two.Reserve(ctx, 7); err != nil || key != 2001 {
			t.Fatalf("key %d, %v; want that of another series, 2001", key, err)
		}
		for range 2 {
			if err := one.Close(ctx); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := one.Reserve(ctx, 1); !errors.Is(err, keysource.ErrClosed) {
			t.Errorf("Reserve after Close: %v", err)
		}
		three, _ := seriesSource(t, s, 1000, 100, time.Minute)
		if key, err := three.Reserve(ctx, 5); err != nil || key != 1051 {
			t.Fatalf("key %d, %v; want what was given back, 1051", key, err)
		}
		if err := one.Close(ctx); err != nil {
			t.Error(err)
		}
		if key, err := three.Reserve(ctx, 5); err != nil || key != 1056 {
			t.Fatalf("key %d, %v; want 1056", key, err)
		}
		// More than the series has left: another one, and the rest stays for
		// requests that it is enough for.
		if key, err := three.Reserve(ctx, 960); err != nil || key != 3001 {
			t.Errorf("key %d, %v; want that of a new series, 3001", key, err)
		}
		if _, err := three.Reserve(ctx, 1001); !errors.Is(err, keysource.ErrTooMany) {
			t.Errorf("more than a series has: %v", err)
		}
		four, _ := seriesSource(t, s, 1000, 100, time.Minute)
		if key, err := four.Reserve(ctx, 5); err != nil || key < 1100 || key > 1160 {
			t.Errorf("key %d, %v; want the series that was given up", key, err)
		}
	})
}

// TestSeriesRefused: what is wrong with the state is an error before the first
// key.
func TestSeriesRefused(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		one, _ := seriesSource(t, s, 1000, 100, time.Minute)
		if _, err := one.Reserve(ctx, 1); err != nil {
			t.Fatal(err)
		}
		other, _ := seriesSource(t, s, 500, 100, time.Minute)
		if _, err := other.Reserve(ctx, 1); !errors.Is(err, store.ErrParameters) {
			t.Errorf("series of another length: %v, want %v", err, store.ErrParameters)
		}
		if _, err := reserver.Open(ctx, harness.StoreOf(t, s), harness.Orders); !errors.Is(err, store.ErrParameters) {
			t.Errorf("a sequence of the same name: %v, want %v", err, store.ErrParameters)
		}
		o := seriesOf(1000, time.Minute)
		o.Sequence.Name = "orders2"
		if _, err := series.New(harness.StoreOf(t, s), o).Own(ctx); !errors.Is(err, store.ErrTaken) {
			t.Errorf("another state of the column: %v, want %v", err, store.ErrTaken)
		}
		o = seriesOf(1000, time.Minute)
		o.Sequence.Columns = []store.Column{{Table: "parts", Name: "no", Unranked: true}}
		if _, err := series.New(harness.StoreOf(t, s), o).Own(ctx); !errors.Is(err, store.ErrBound) {
			t.Errorf("another column: %v, want %v", err, store.ErrBound)
		}
		o = seriesOf(1000, time.Minute)
		o.Owner = ""
		if _, err := series.New(harness.StoreOf(t, s), o).Own(ctx); !errors.Is(err, keysource.ErrOptions) {
			t.Errorf("no owner: %v, want %v", err, keysource.ErrOptions)
		}
		harness.Exec(t, s.Raw, "DROP TABLE keyfill_series")
		o = seriesOf(1000, time.Minute)
		o.Sequence.EnsureSchema = false
		if _, err := series.New(harness.StoreOf(t, s), o).Own(ctx); !errors.Is(err, store.ErrTables) {
			t.Errorf("no table: %v, want %v", err, store.ErrTables)
		}
	})
}

// TestSeriesLimit: the last series ends at the limit, and then there is an
// error, but what others have given up is used.
func TestSeriesLimit(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		source := func() *counting.Recycled {
			o := seriesOf(10, time.Minute)
			o.Sequence.Bounds.Max = 25
			src, err := counting.NewRecycled(counting.RecycledOptions{
				Store: series.New(harness.StoreOf(t, s), o), Size: 10, Block: 5,
			}, keysource.Env{StoreWait: harness.Limit})
			if err != nil {
				t.Fatal(err)
			}
			return src
		}
		one, two := source(), source()
		defer two.Close(ctx)
		for _, want := range []int64{1, 7, 13, 0} { // the last series has five
			key, err := one.Reserve(ctx, 6)
			if key != want || (err == nil) != (want > 0) || err != nil && !errors.Is(err, keysource.ErrExhausted) {
				t.Errorf("key %d, %v; want %d", key, err, want)
			}
		}
		if err := one.Close(ctx); err != nil {
			t.Fatal(err)
		}
		seen := map[int64]bool{}
		for {
			key, err := two.Reserve(ctx, 1)
			if errors.Is(err, keysource.ErrExhausted) {
				break
			}
			if err != nil || seen[key] || key > 25 {
				t.Fatalf("key %d, %v", key, err)
			}
			seen[key] = true
		}
		if len(seen) != 5 || !seen[21] {
			t.Errorf("keys %v: want the series that the other one has given up", seen)
		}
	})
}

// TestSeriesBehind: keys in a series that were never reserved are an error, are left out,
// or are not compared with.
func TestSeriesBehind(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		one, _ := seriesSource(t, s, 100, 10, time.Minute)
		if _, err := one.Reserve(ctx, 1); err != nil {
			t.Fatal(err)
		}
		if err := one.Close(ctx); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, s.Raw, "INSERT INTO orders (id) VALUES (50), (350)")
		for _, c := range []struct {
			remedy      keysource.Remedy
			key, second int64
			err         error
		}{
			{keysource.RemedyError, 0, 0, keysource.ErrStoreBehind},
			{keysource.RemedyAdvance, 51, 401, nil},
			{keysource.RemedyWarn, 52, 501, nil},
		} {
			rows := series.New(harness.StoreOf(t, s), seriesOf(100, 50*time.Millisecond))
			src, err := counting.NewRecycled(counting.RecycledOptions{
				Store: rows, Size: 100, Block: 1, Lease: 50 * time.Millisecond, MaxKey: rows.MaxKey, OnBehind: c.remedy,
			}, keysource.Env{StoreWait: harness.Limit})
			if err != nil {
				t.Fatal(err)
			}
			key, err := src.Reserve(ctx, 1)
			if key != c.key || !errors.Is(err, c.err) {
				t.Errorf("%q: key %d, %v; want %d, %v", c.remedy, key, err, c.key, c.err)
			}
			if c.err == nil {
				if key, err := src.Reserve(ctx, 90); err != nil || key != c.second {
					t.Errorf("%q: key %d, %v; want %d", c.remedy, key, err, c.second)
				}
			}
			_ = src.Close(ctx)
			time.Sleep(100 * time.Millisecond)
		}
	})
}

// TestSeriesBack: a row that stands below the integers that this source has been given is
// an error until it is set right, or is abandoned.
func TestSeriesBack(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.StoreDrivers, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		for _, remedy := range []keysource.Remedy{keysource.RemedyError, keysource.RemedyAdvance} {
			src, err := counting.NewRecycled(counting.RecycledOptions{
				Store: series.New(harness.StoreOf(t, s), seriesOf(1000, time.Minute)), Size: 1000, Block: 10, OnStoreRollback: remedy,
			}, keysource.Env{StoreWait: harness.Limit})
			if err != nil {
				t.Fatal(err)
			}
			first, err := src.Reserve(ctx, 40)
			if err != nil {
				t.Fatal(err)
			}
			set := func(to int64) {
				harness.Exec(t, s.Raw, "UPDATE keyfill_series SET next_value = "+strconv.FormatInt(to, 10)+" WHERE owner <> ''")
			}
			set(first + 20)
			key, err := src.Reserve(ctx, 40)
			if remedy == keysource.RemedyError {
				if !errors.Is(err, keysource.ErrStoreBack) {
					t.Errorf("key %d, %v; want %v", key, err, keysource.ErrStoreBack)
				}
				set(first + 100)
				time.Sleep(1100 * time.Millisecond)
				key, err = src.Reserve(ctx, 40)
			}
			if err != nil || key < first+40 {
				t.Errorf("%s: key %d, %v; want at least %d", remedy, key, err, first+40)
			}
			if err := src.Close(ctx); err != nil {
				t.Error(err)
			}
		}
	})
}

// seriesOn is the connection of a statement, as the wrapper has it.
type seriesOn struct {
	t    *testing.T
	s    *harness.Scratch
	conn *sql.Conn
	rows *series.Rows
	open bool
}

func (c *seriesOn) do(query string) error {
	_, err := c.conn.ExecContext(context.Background(), query)
	return err
}

func (c *seriesOn) at() counting.SeriesAt {
	return counting.SeriesAt{Open: c.open, MaxKey: func(ctx context.Context, from, to int64) (key int64, err error) {
		c.within(func(rows *series.Rows) { key, err = rows.MaxKey(ctx, from, to) })
		return key, err
	}, Transact: func(_ context.Context, f func(keysource.SeriesStore) error) error {
		if c.open {
			return f(rawSeries{c})
		}
		if err := c.do("BEGIN"); err != nil {
			return err
		}
		if err := f(rawSeries{c}); err != nil {
			return errors.Join(err, c.do("ROLLBACK"))
		}
		return c.do("COMMIT")
	}}
}

func (c *seriesOn) within(f func(*series.Rows)) {
	err := c.conn.Raw(func(conn any) error {
		f(c.rows.At(store.Within(c.s.Dialect, conn.(driver.Conn))))
		return nil
	})
	if err != nil {
		c.t.Error(err)
	}
}

// rawSeries are the series on a connection of the application.
type rawSeries struct{ c *seriesOn }

func (r rawSeries) Own(ctx context.Context) (s keysource.Series, err error) {
	r.c.within(func(rows *series.Rows) { s, err = rows.Own(ctx) })
	return s, err
}

func (r rawSeries) Move(ctx context.Context, h keysource.Series, to int64) (s keysource.Series, ok bool, err error) {
	r.c.within(func(rows *series.Rows) { s, ok, err = rows.Move(ctx, h, to) })
	return s, ok, err
}

func (r rawSeries) TakeOver(ctx context.Context, n int64) (s keysource.Series, err error) {
	r.c.within(func(rows *series.Rows) { s, err = rows.TakeOver(ctx, n) })
	return s, err
}

func (r rawSeries) Open(ctx context.Context, seen int64) (s keysource.Series, err error) {
	r.c.within(func(rows *series.Rows) { s, err = rows.Open(ctx, seen) })
	return s, err
}

func (r rawSeries) GiveUp(ctx context.Context, h keysource.Series, to int64) (err error) {
	r.c.within(func(rows *series.Rows) { err = rows.GiveUp(ctx, h, to) })
	return err
}

func (r rawSeries) Advance(ctx context.Context, to int64) (err error) {
	r.c.within(func(rows *series.Rows) { err = rows.Advance(ctx, to) })
	return err
}

// TestSeriesOnConnection: inside a transaction exactly what is asked for is
// reserved, and all of it is undone with it, a series that was taken over or
// opened too; outside a block is kept.
func TestSeriesOnConnection(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.SQLiteFile}, func(t *testing.T, s *harness.Scratch) {
		ctx := context.Background()
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		if err := schema.Of(harness.StoreOf(t, s)).Ensure(ctx); err != nil {
			t.Fatal(err)
		}
		raw, err := s.Raw.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer raw.Close()
		o := seriesOf(100, time.Minute)
		o.Sequence.EnsureSchema = false
		c := &seriesOn{t: t, s: s, conn: raw, rows: series.New(store.On(s.Dialect, nil), o)}
		src, err := counting.NewRecycled(counting.RecycledOptions{OnConnection: true, Size: 100, Block: 10}, keysource.Env{})
		if err != nil {
			t.Fatal(err)
		}
		draw := func(n, want int64) {
			t.Helper()
			if key, err := src.ReserveOn(ctx, n, c.at()); err != nil || key != want {
				t.Fatalf("key %d, %v; want %d", key, err, want)
			}
		}
		begin := func() {
			t.Helper()
			if err := c.do("BEGIN"); err != nil {
				t.Fatal(err)
			}
			c.open = true
		}
		end := func(how string) {
			t.Helper()
			c.open = false
			if err := c.do(how); err != nil {
				t.Fatal(err)
			}
		}
		count := func(want int64) {
			t.Helper()
			if n := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM keyfill_series"); n != want {
				t.Errorf("%d rows, want %d", n, want)
			}
		}
		// The first series, opened and undone: nothing of it is left.
		begin()
		draw(3, 1)
		draw(3, 4)
		end("ROLLBACK")
		count(0)
		begin()
		draw(5, 1)
		end("COMMIT")
		count(1)
		// What the transaction has opened is found, and a block is kept.
		draw(1, 6)
		begin()
		draw(9, 7) // the rest of the block, which has committed
		draw(20, 16)
		end("ROLLBACK")
		draw(2, 16)
		// A change of series that is undone.
		begin()
		draw(90, 101)
		end("ROLLBACK")
		draw(1, 18)
		begin()
		draw(90, 101)
		end("COMMIT")
		draw(1, 19) // of the block in hand
		draw(8, 191)
		if st := src.Stats(); st.Left == 0 {
			t.Errorf("%+v", st)
		}
		if err := src.CloseOn(ctx, c.at()); err != nil {
			t.Fatal(err)
		}
		if n := harness.CountInt(t, s.Raw, "SELECT COUNT(*) FROM keyfill_series WHERE owner <> ''"); n != 0 {
			t.Errorf("%d series have an owner after CloseOn", n)
		}
		if _, err := src.ReserveOn(ctx, 1, c.at()); !errors.Is(err, keysource.ErrClosed) {
			t.Errorf("after CloseOn: %v", err)
		}
	})
}
