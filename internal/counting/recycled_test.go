package counting_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// memory is a store of series in memory, for one owner. Other owners are played
// by the test.
type memory struct {
	mu    sync.Mutex
	rows  map[int64]keysource.Series
	next  int64 // of the next new series
	size  int64
	down  error
	moves []int64 // what Move was asked for
	most  int64   // the greatest key in the table
}

func newMemory(size int64) *memory {
	return &memory{rows: map[int64]keysource.Series{}, next: 1, size: size}
}

// do changes the state.
func (m *memory) do(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f()
}

func (m *memory) Own(context.Context) (s keysource.Series, err error) {
	m.do(func() {
		for _, r := range m.rows {
			if r.Own && (s.First == 0 || r.First < s.First) {
				s = r
			}
		}
		err = m.down
	})
	return s, err
}

func (m *memory) Move(_ context.Context, h keysource.Series, to int64) (now keysource.Series, moved bool, err error) {
	m.do(func() {
		if err = m.down; err != nil {
			return
		}
		m.moves = append(m.moves, to)
		now = m.rows[h.First]
		if now == h {
			now.Next, moved = to, true
			m.rows[h.First] = now
		}
	})
	return now, moved, err
}

func (m *memory) TakeOver(_ context.Context, n int64) (s keysource.Series, err error) {
	m.do(func() {
		for _, r := range m.rows {
			if !r.Own && r.Last-r.Next+1 >= n && (s.First == 0 || r.First < s.First) {
				s = r
			}
		}
		if err = m.down; err == nil && s.First > 0 {
			s.Own = true
			s.Epoch++
			m.rows[s.First] = s
		}
	})
	return s, err
}

func (m *memory) Open(_ context.Context, seen int64) (s keysource.Series, err error) {
	m.do(func() {
		if err = m.down; err != nil {
			return
		}
		if m.next < seen {
			s.First = m.next
			return
		}
		s = keysource.Series{First: m.next, Last: m.next + m.size - 1, Next: m.next, Epoch: 1, Own: true}
		m.rows[s.First] = s
		m.next += m.size
	})
	return s, err
}

func (m *memory) GiveUp(_ context.Context, h keysource.Series, to int64) (err error) {
	m.do(func() {
		if err = m.down; err != nil {
			return
		}
		r := m.rows[h.First]
		if !r.Own || r.Epoch != h.Epoch {
			return
		}
		r.Own = false
		if r.Next == h.Next {
			r.Next = to
		}
		m.rows[h.First] = r
		if r.Next > r.Last {
			delete(m.rows, h.First)
		}
	})
	return err
}

func (m *memory) Advance(_ context.Context, to int64) (err error) {
	m.do(func() {
		for err = m.down; m.next < to; m.next += m.size {
		}
	})
	return err
}

func (m *memory) maxKey(_ context.Context, from, to int64) (key int64, err error) {
	m.do(func() {
		if err = m.down; from <= m.most && m.most <= to {
			key = m.most
		}
	})
	return key, err
}

// recycledOver returns a source over m, whose blocks have ten integers.
func recycledOver(t *testing.T, m *memory, change func(*counting.RecycledOptions)) *counting.Recycled {
	t.Helper()
	o := counting.RecycledOptions{Store: m, Size: m.size, Block: 10, MaxKey: m.maxKey}
	if change != nil {
		change(&o)
	}
	s, err := counting.NewRecycled(o, keysource.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// takes asserts the first key of a request.
func takes(t *testing.T, s *counting.Recycled, n, want int64) {
	t.Helper()
	if key, err := s.Reserve(context.Background(), n); err != nil || key != want {
		t.Fatalf("%d keys from %d, %v; want from %d", n, key, err, want)
	}
}

func TestRecycledOptions(t *testing.T) {
	m := newMemory(100)
	for name, o := range map[string]counting.RecycledOptions{
		"no store":            {},
		"two stores":          {Store: m, OnConnection: true},
		"size":                {Store: m, Size: -1},
		"lease":               {Store: m, Lease: time.Millisecond},
		"block":               {Store: m, Size: 10, Block: 11},
		"bounds":              {Store: m, MinBlock: 5, MaxBlock: 4},
		"behind":              {Store: m, OnBehind: "ignore"},
		"rollback":            {Store: m, OnStoreRollback: keysource.RemedyWarn},
		"comparison, no conn": {OnConnection: true, MaxKey: m.maxKey},
	} {
		if _, err := counting.NewRecycled(o, keysource.Env{}); !errors.Is(err, keysource.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
	s := recycledOver(t, m, nil)
	if _, err := s.Reserve(context.Background(), 0); !errors.Is(err, keysource.ErrCount) {
		t.Errorf("no keys: %v", err)
	}
	if _, err := s.Reserve(context.Background(), 101); !errors.Is(err, keysource.ErrTooMany) {
		t.Errorf("more than a series has: %v", err)
	}
}

// TestRecycledLease: after three quarters of the lease nothing in hand is handed
// out before the store has renewed it, a third of it is renewed while the
// source is used, and one that is idle asks nothing.
func TestRecycledLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemory(1000)
		s := recycledOver(t, m, func(o *counting.RecycledOptions) { o.Block = 100 })
		defer s.Close(context.Background())
		takes(t, s, 1, 1)
		asked := func() (n int) {
			synctest.Wait()
			m.do(func() { n = len(m.moves) })
			return n
		}
		if n := asked(); n != 1 {
			t.Fatalf("%d moves, want 1", n)
		}
		time.Sleep(counting.DefaultLease / 4)
		takes(t, s, 1, 2)
		if n := asked(); n != 1 {
			t.Errorf("%d moves after a quarter of the lease", n)
		}
		time.Sleep(counting.DefaultLease / 10)
		takes(t, s, 1, 3)
		if n := asked(); n != 2 {
			t.Errorf("%d moves after a third of the lease, want 2", n)
		}
		time.Sleep(time.Hour)
		if n := asked(); n != 2 {
			t.Errorf("%d moves of an idle source, want 2", n)
		}
		m.do(func() { m.down = errors.New("down") })
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if key, err := s.Reserve(ctx, 1); !errors.Is(err, keysource.ErrStoreDown) {
			t.Errorf("key %d, %v, of a lease that nobody has renewed", key, err)
		}
		m.do(func() { m.down = nil })
		takes(t, s, 1, 4)
		// Another one has taken it over meanwhile.
		time.Sleep(time.Hour)
		m.do(func() {
			r := m.rows[1]
			r.Own, r.Epoch, r.Next = false, 2, 501
			m.rows[1] = r
		})
		takes(t, s, 1, 501)
	})
}

// TestRecycledClose: the rest of the block goes back once, and requests fail.
func TestRecycledClose(t *testing.T) {
	ctx := context.Background()
	m := newMemory(1000)
	s := recycledOver(t, m, func(o *counting.RecycledOptions) { o.Block = 100 })
	takes(t, s, 30, 1)
	for range 2 {
		if err := s.Close(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if r := m.rows[1]; r.Own || r.Next != 31 {
		t.Errorf("%+v, want nobody's, at 31", r)
	}
	if _, err := s.Reserve(ctx, 1); !errors.Is(err, keysource.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	if err := s.Advance(ctx, 5); !errors.Is(err, keysource.ErrClosed) {
		t.Errorf("Advance after Close: %v", err)
	}
	// One whose row stands elsewhere gives nothing back.
	s = recycledOver(t, m, func(o *counting.RecycledOptions) { o.Block = 100 })
	takes(t, s, 30, 31)
	m.do(func() { r := m.rows[1]; r.Next += 7; m.rows[1] = r })
	if err := s.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if r := m.rows[1]; r.Own || r.Next != 138 {
		t.Errorf("%+v, want nobody's, at 138", r)
	}
}

// TestRecycledAdvance: a key that the application brings is left out of the own
// series, and new series lie above.
func TestRecycledAdvance(t *testing.T) {
	ctx := context.Background()
	m := newMemory(100)
	s := recycledOver(t, m, nil)
	defer s.Close(ctx)
	takes(t, s, 1, 1)
	if err := s.Advance(ctx, 6); err != nil {
		t.Fatal(err)
	}
	takes(t, s, 1, 6)
	if err := s.Advance(ctx, 51); err != nil {
		t.Fatal(err)
	}
	if err := s.Advance(ctx, 1042); err != nil {
		t.Fatal(err)
	}
	takes(t, s, 1, 51)
	takes(t, s, 60, 1101)
}

// TestRecycledDrop: after Drop no key comes that was reserved before.
func TestRecycledDrop(t *testing.T) {
	m := newMemory(100)
	s := recycledOver(t, m, nil)
	defer s.Close(context.Background())
	takes(t, s, 2, 1)
	s.Drop()
	takes(t, s, 2, 11)
	if st := s.Stats(); st.Series != 1 || st.Opened != 1 || st.Left != 8 || st.Next != 13 || st.Room != 80 {
		t.Errorf("%+v", st)
	}
}

// TestRecycledBehind: the table is compared with the store before the first key
// of a series.
func TestRecycledBehind(t *testing.T) {
	for _, c := range []struct {
		remedy keysource.Remedy
		want   int64
		err    error
	}{{"", 0, keysource.ErrStoreBehind}, {keysource.RemedyAdvance, 301, nil}, {keysource.RemedyWarn, 1, nil}} {
		m := newMemory(100)
		m.most = 250
		s := recycledOver(t, m, func(o *counting.RecycledOptions) { o.OnBehind = c.remedy })
		if key, err := s.Reserve(context.Background(), 1); key != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q: key %d, %v; want %d, %v", c.remedy, key, err, c.want, c.err)
		}
		if st := s.Stats(); (st.Behind > 0) != (c.remedy == keysource.RemedyWarn) {
			t.Errorf("%q: %+v", c.remedy, st)
		}
		s.Close(context.Background())
	}
}

// TestRecycledOvertaken: keys of another owner, which took over the series between the
// look at its row and the look at the table, are no fault of the store. Keys that were
// never reserved are.
func TestRecycledOvertaken(t *testing.T) {
	for _, c := range []struct {
		name  string
		taken int // how often the series has another owner by then
		want  int64
		err   error
	}{
		{"by nobody", 0, 0, keysource.ErrStoreBehind},
		{"once", 1, 101, nil},
		{"again and again", 3, 301, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newMemory(100)
			looks := 0
			s := recycledOver(t, m, func(o *counting.RecycledOptions) {
				o.MaxKey = func(ctx context.Context, from, to int64) (int64, error) {
					if from == 1 && to > m.size {
						return 0, nil // the look before all series
					}
					looks++
					if looks > 1 && looks > c.taken {
						return 0, nil
					}
					if c.taken > 0 {
						m.do(func() {
							r := m.rows[from]
							r.Own, r.Epoch, r.Next = false, r.Epoch+1, r.Last+1
							m.rows[from] = r
						})
					}
					return from + 5, nil
				}
			})
			defer s.Close(context.Background())
			if key, err := s.Reserve(context.Background(), 1); key != c.want || !errors.Is(err, c.err) {
				t.Errorf("key %d, %v; want %d, %v", key, err, c.want, c.err)
			}
		})
	}
}

// TestRecycledOverlap: where the store was made again by hand, a series may have integers
// of an older one. None that this process has had comes twice.
func TestRecycledOverlap(t *testing.T) {
	for _, c := range []struct {
		remedy keysource.Remedy
		want   int64
		err    error
	}{{"", 0, keysource.ErrStoreBack}, {keysource.RemedyAdvance, 11, nil}} {
		m := newMemory(10)
		s := recycledOver(t, m, func(o *counting.RecycledOptions) { o.OnStoreRollback = c.remedy })
		takes(t, s, 10, 1)
		m.do(func() { m.rows = map[int64]keysource.Series{10: {First: 10, Last: 19, Next: 10, Epoch: 1}} })
		if key, err := s.Reserve(context.Background(), 1); key != c.want || !errors.Is(err, c.err) {
			t.Errorf("%q: key %d, %v; want %d, %v", c.remedy, key, err, c.want, c.err)
		}
		s.Close(context.Background())
	}
}

// TestRecycledUnique: 16 goroutines, many series, requests of every length.
func TestRecycledUnique(t *testing.T) {
	m := newMemory(500)
	s := recycledOver(t, m, func(o *counting.RecycledOptions) { o.Block = 0; o.MaxBlock = 400 })
	var mu sync.Mutex
	var all []int64
	var wg sync.WaitGroup
	for g := range int64(16) {
		wg.Go(func() {
			for i := range int64(300) {
				n := 1 + (g*31+i*17)%40
				key, err := s.Reserve(context.Background(), n)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for k := range n {
					all = append(all, key+k)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	if err := s.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	slices.Sort(all)
	if n := len(slices.Compact(slices.Clone(all))); n != len(all) {
		t.Errorf("%d keys, %d different ones", len(all), n)
	}
	if last := all[len(all)-1]; last > int64(len(all))*3/2 {
		t.Errorf("%d keys up to %d", len(all), last)
	}
}
