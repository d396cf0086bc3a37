package counting_test

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// TestSequenceOnBehind: the store is compared with the table once, inside a
// transaction or not.
func TestSequenceOnBehind(t *testing.T) {
	for _, tt := range []struct {
		name   string
		next   int64 // where the store stands; the greatest key is 500
		remedy keysource.Remedy
		open   bool
		first  int64
		err    error
		after  int64 // the key after a rollback, or after the first one
		looked int
	}{
		{"above", 501, "", false, 501, nil, 502, 1},
		{"above, inside", 501, "", true, 501, nil, 501, 1},
		{"at, inside", 500, "", true, 0, keysource.ErrStoreBehind, 0, 1},
		{"below", 1, "", false, 0, keysource.ErrStoreBehind, 0, 1},
		{"warn, inside", 401, keysource.RemedyWarn, true, 402, nil, 401, 1},
		{"advance", 1, keysource.RemedyAdvance, false, 501, nil, 502, 1},
		// The advance is rolled back, and so has to be made again.
		{"advance, inside", 1, keysource.RemedyAdvance, true, 501, nil, 501, 2},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			f := newFile(fileState{next: tt.next, most: 500})
			c := &session{f: f, open: tt.open}
			s := onConnection(t, counting.SequenceOptions{OnBehind: tt.remedy})
			first, err := s.ReserveOn(t.Context(), 1, c.at())
			if first != tt.first || !errors.Is(err, tt.err) {
				t.Fatalf("ReserveOn = %d, %v, want %d, %v", first, err, tt.first, tt.err)
			}
			c.rollback()
			if err != nil {
				refuseOn(t, s, c, 1, tt.err) // without asking
				if n := len(f.do(nil).asked); n != 1 {
					t.Errorf("the store was asked %d times", n)
				}
				f.do(func(st *fileState) { st.next = 501 })
				time.Sleep(time.Second)
				reserveOn(t, s, c, 1, 501)
				return
			}
			reserveOn(t, s, c, 1, tt.after)
			if got := f.do(nil).looked; got != tt.looked {
				t.Errorf("the table was asked %d times, want %d", got, tt.looked)
			}
		})
	}
}

// TestSequenceOnStoreBack: a store below what was seen committed has gone back,
// for a transaction too; one below what was rolled back has not.
func TestSequenceOnStoreBack(t *testing.T) {
	for _, open := range []bool{false, true} {
		name := fmt.Sprintf(", open %t", open)
		bubble(t, "lower"+name, func(t *testing.T) {
			s, c := hasGoneBack(t, counting.SequenceOptions{}, func(st *fileState) { st.next = 20 })
			c.open = open
			refuseOn(t, s, c, 1, keysource.ErrStoreBack)
			refuseOn(t, s, c, 1, keysource.ErrStoreBack)
			c.rollback()
			c.f.do(func(st *fileState) { st.next = 21 })
			time.Sleep(time.Second)
			reserveOn(t, s, c, 1, 21)
			if err := s.Stats().Err; err != nil {
				t.Error(err)
			}
		})
		bubble(t, "another server, lower than the table"+name, func(t *testing.T) {
			s, c := hasGoneBack(t, counting.SequenceOptions{}, func(st *fileState) { st.server, st.most = "b", 100 })
			c.open = open
			refuseOn(t, s, c, 1, keysource.ErrStoreBack)
		})
		bubble(t, "another server"+name, func(t *testing.T) {
			s, c := hasGoneBack(t, counting.SequenceOptions{}, func(st *fileState) { st.server, st.next = "b", 30 })
			c.open = open
			looked := c.f.do(nil).looked
			first, err := s.ReserveOn(t.Context(), 1, c.at())
			if err != nil || first < 30 || c.f.do(nil).looked != looked+1 {
				t.Errorf("ReserveOn = %d, %v; the table was asked %d times more", first, err, c.f.do(nil).looked-looked)
			}
		})
		bubble(t, "advance"+name, func(t *testing.T) {
			o := counting.SequenceOptions{OnStoreRollback: keysource.RemedyAdvance}
			s, c := hasGoneBack(t, o, func(st *fileState) { st.server, st.next, st.most = "b", 15, 25 })
			c.open = open
			first, err := s.ReserveOn(t.Context(), 1, c.at())
			if err != nil || first != 26 {
				t.Fatalf("ReserveOn = %d, %v, want 26", first, err)
			}
			c.rollback() // and what has moved the store, if it was inside
			c.f.do(func(st *fileState) { st.next = max(st.next, 23) })
			if first, err := s.ReserveOn(t.Context(), 1, c.at()); err != nil || first < 26 {
				t.Errorf("ReserveOn = %d, %v, want 26 or more", first, err)
			}
		})
	}
}

// hasGoneBack returns a source that has seen 20 integers of server a committed,
// and 40 more in transactions that were rolled back; then the store, where 21 is
// next, is changed.
func hasGoneBack(t *testing.T, o counting.SequenceOptions, change func(*fileState)) (*counting.Sequence, *session) {
	t.Helper()
	f := newFile(fileState{server: "a"})
	c := &session{f: f}
	o.Block = 10
	s := onConnection(t, o)
	reserveOn(t, s, c, 1, 1)
	c.begin()
	reserveOn(t, s, c, 20, 11)
	c.rollback()
	reserveOn(t, s, c, 10, 11)
	c.begin()
	reserveOn(t, s, c, 20, 21)
	c.rollback()
	f.do(change)
	return s, c
}

// TestSequenceOnDrop: what is reserved before a Drop is used no more, in flight
// or not.
func TestSequenceOnDrop(t *testing.T) {
	bubble(t, "in hand", func(t *testing.T) {
		c := &session{f: new(file)}
		s := onConnection(t, counting.SequenceOptions{Block: 10})
		reserveOn(t, s, c, 1, 1)
		s.Drop()
		reserveOn(t, s, c, 1, 11)
	})
	for _, open := range []bool{false, true} {
		bubble(t, fmt.Sprintf("in flight, open %t", open), func(t *testing.T) {
			c := &session{f: new(file), open: open, late: time.Second}
			s := onConnection(t, counting.SequenceOptions{Block: 10})
			answer := askOn(t.Context(), s, c)
			s.Drop()
			want := int64(11)
			if open {
				want = 2
			}
			if r := <-answer; r.err != nil || r.first != want {
				t.Errorf("%+v, want %d", r, want)
			}
			if st := s.Stats(); st.Fetches != 2 || st.Waits != 2 {
				t.Errorf("Stats() = %+v", st)
			}
		})
	}
}

func TestSequenceOnCloseInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &session{f: new(file), late: time.Second}
		s := onConnection(t, counting.SequenceOptions{})
		answer := askOn(t.Context(), s, c)
		if err := s.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if r := <-answer; r.err != keysource.ErrClosed {
			t.Errorf("%+v", r)
		}
		refuseOn(t, s, c, 1, keysource.ErrClosed)
	})
}

func TestSequenceOnAdvance(t *testing.T) {
	for _, tt := range []struct {
		name     string
		to, next int64
		advances int // calls that reach the store
	}{
		// 1 to 5 were handed out, 6 to 10 are in hand.
		{"below", 3, 6, 0},
		{"in the block in hand", 8, 8, 0},
		{"to the end of what is reserved", 11, 11, 0},
		{"beyond", 1000, 1000, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &session{f: new(file)}
			s := onConnection(t, counting.SequenceOptions{Block: 10})
			reserveOn(t, s, c, 5, 1)
			if err := s.AdvanceOn(t.Context(), tt.to, c.at()); err != nil {
				t.Error(err)
			}
			reserveOn(t, s, c, 1, tt.next)
			if got := c.f.do(nil).advanced; len(got) != tt.advances {
				t.Errorf("the store advanced to %v", got)
			}
		})
	}
}

func TestSequenceOnAdvanceElsewhere(t *testing.T) {
	t.Run("rolled back", func(t *testing.T) {
		c := &session{f: new(file)}
		s := onConnection(t, counting.SequenceOptions{Block: 10})
		reserveOn(t, s, c, 5, 1)
		c.begin()
		if err := s.AdvanceOn(t.Context(), 100, c.at()); err != nil {
			t.Error(err)
		}
		reserveOn(t, s, c, 1, 100)
		c.rollback()
		c.begin()
		reserveOn(t, s, c, 1, 100) // 100 went with the transaction
		c.commit()
		reserveOn(t, s, c, 1, 101)
		if st := s.Stats(); st.Err != nil || st.Next != 102 {
			t.Errorf("Stats() = %+v", st)
		}
	})
	bubble(t, "while a block is in flight", func(t *testing.T) {
		c := &session{f: new(file), late: time.Second}
		s := onConnection(t, counting.SequenceOptions{Block: 10})
		answer := askOn(t.Context(), s, c)
		if err := s.AdvanceOn(t.Context(), 6, (&session{f: c.f}).at()); err != nil {
			t.Error(err)
		}
		if r := <-answer; r.err != nil || r.first != 6 {
			t.Errorf("%+v", r)
		}
	})
	bubble(t, "beyond it", func(t *testing.T) {
		c := &session{f: new(file), late: time.Second}
		s := onConnection(t, counting.SequenceOptions{Block: 10})
		answer := askOn(t.Context(), s, c)
		if err := s.AdvanceOn(t.Context(), 50, (&session{f: c.f}).at()); err != nil {
			t.Error(err)
		}
		if r := <-answer; r.err != nil || r.first != 50 {
			t.Errorf("%+v", r)
		}
	})
}
