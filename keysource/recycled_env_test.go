package keysource_test

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/keysource"
)

// What transactions about series are for.
const (
	serMove    = "move"
	serTake    = "take over"
	serOpen    = "open"
	serGiveUp  = "give up"
	serLook    = "look for what is owned" // and by whom
	serCounter = "counter"
)

// serRow is a row of the table of series in the simulation.
type serRow struct {
	first, last, next int64
	owner             string
	epoch             int64
	until             int64 // milliseconds, of the clock that the rules say

	// renewed is when the lease was last renewed, by the server's clock; 0: it
	// was given up. It is for the laws alone.
	renewed int64
}

// String tells a row in the story of a world.
func (r serRow) String() string {
	whose := "given up"
	if r.owner != "" {
		whose = fmt.Sprintf("%q's by epoch %d", r.owner, r.epoch)
	}
	return fmt.Sprintf("a series to %d with %d as the next integer, %s", r.last, r.next, whose)
}

func (r serRow) key() string { return strconv.FormatInt(r.first, 10) }

func (r serRow) series(owner string) keysource.Series {
	return keysource.Series{First: r.first, Last: r.last, Next: r.next, Epoch: r.epoch, Own: r.owner == owner}
}

// serRules are what a mutant of the statements does otherwise.
type serRules struct {
	early     bool // a lease has run out in the instant in which it ends
	edge      bool // a series that is just used up has something left
	client    bool // the client's clock
	anybody   bool // neither owner nor epoch in the WHERE of a move
	fromMax   bool // the next series from the rows that are left
	spent     bool // used-up series are taken over
	keeps     bool // the own series is not given up, and forgotten
	blind     bool // the rest is given back wherever the row stands, and twice
	shortened bool // a move reserves less than it says
}

// simSeries is the store of series of one source: what the SQL of a real one
// does, statement by statement.
type simSeries struct {
	owner string
	size  int64
	lease time.Duration
	limit int64
	now   func() time.Time // the client's clock
	rules serRules
	kept  sync.Map // with rules.keeps: firsts

	// do runs a transaction.
	do func(ctx context.Context, f func(*sim.Tx) any) (any, error)
}

// serAnswer is the answer of a transaction about series.
type serAnswer struct {
	series keysource.Series
	done   bool
	n      int64
	full   bool
}

func (s *simSeries) ask(ctx context.Context, f func(*sim.Tx) serAnswer) (serAnswer, error) {
	got, err := s.do(ctx, func(tx *sim.Tx) any { return f(tx) })
	if err != nil {
		return serAnswer{}, err
	}
	a, ok := got.(serAnswer)
	if !ok {
		return a, sim.ErrReset // an unpaired answer to something else
	}
	return a, nil
}

// millis is what a lease is counted by.
func (s *simSeries) millis(tx *sim.Tx) int64 {
	if s.rules.client {
		return s.now().UnixMilli()
	}
	return serverMillis(tx)
}

// serverMillis is a clock of a tenth of a second, so that leases end in the
// instants in which others look.
func serverMillis(tx *sim.Tx) int64 { return tx.Now().UnixMilli() / 100 * 100 }

func serRows(tx *sim.Tx) []serRow {
	var all []serRow
	for _, row := range tx.All() {
		all = append(all, row.(serRow))
	}
	return all
}

// lowest returns the row with the lowest first that fits.
func lowest(tx *sim.Tx, fits func(serRow) bool) (low serRow) {
	for _, r := range serRows(tx) {
		if fits(r) && (low.first == 0 || r.first < low.first) {
			low = r
		}
	}
	return low
}

func (s *simSeries) Own(ctx context.Context) (keysource.Series, error) {
	a, err := s.ask(ctx, func(tx *sim.Tx) serAnswer {
		tx.Note(serLook+" "+s.owner, 0)
		return serAnswer{series: lowest(tx, func(r serRow) bool { _, kept := s.kept.Load(r.first); return r.owner == s.owner && !kept }).series(s.owner)}
	})
	return a.series, err
}

func (s *simSeries) Move(ctx context.Context, h keysource.Series, to int64) (keysource.Series, bool, error) {
	a, err := s.ask(ctx, func(tx *sim.Tx) serAnswer {
		row, ok := tx.Load(strconv.FormatInt(h.First, 10)).(serRow)
		if !ok {
			return serAnswer{}
		}
		mine := row.owner == s.owner && row.epoch == h.Epoch
		if !mine && !s.rules.anybody || row.next != h.Next {
			return serAnswer{series: row.series(s.owner)}
		}
		tx.Note(serMove, h.Epoch)
		row.next = to
		if s.rules.shortened && to > h.Next {
			row.next--
		}
		s.renew(tx, &row)
		tx.Store(row.key(), row)
		got := row.series(s.owner)
		got.Next = to
		return serAnswer{series: got, done: true}
	})
	return a.series, a.done, err
}

func (s *simSeries) renew(tx *sim.Tx, row *serRow) {
	row.until = s.millis(tx) + s.lease.Milliseconds()
	row.renewed = serverMillis(tx)
}

func (s *simSeries) abandoned(tx *sim.Tx, r serRow) bool {
	if s.rules.early {
		return r.until <= s.millis(tx)
	}
	return r.until < s.millis(tx)
}

func (s *simSeries) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	fits := func(tx *sim.Tx, r serRow) bool {
		left := r.last - r.next + 1
		if s.rules.edge {
			left++
		}
		return s.abandoned(tx, r) && (n <= left || s.rules.spent)
	}
	for range 16 {
		// A look, and an UPDATE of what was seen, as the engines do it.
		seen, err := s.ask(ctx, func(tx *sim.Tx) serAnswer {
			if spent := lowest(tx, func(r serRow) bool { return r.next > r.last && s.abandoned(tx, r) }); spent.first > 0 && !s.rules.spent && !s.rules.edge {
				tx.Store(spent.key(), nil)
			}
			return serAnswer{series: lowest(tx, func(r serRow) bool { return fits(tx, r) }).series(s.owner)}
		})
		if err != nil || seen.series.First == 0 {
			return keysource.Series{}, err
		}
		took, err := s.ask(ctx, func(tx *sim.Tx) serAnswer {
			row, ok := tx.Load(strconv.FormatInt(seen.series.First, 10)).(serRow)
			if !ok || !fits(tx, row) {
				return serAnswer{}
			}
			tx.Note(serTake, serverMillis(tx))
			row.owner = s.owner
			row.epoch++
			s.renew(tx, &row)
			tx.Store(row.key(), row)
			return serAnswer{series: row.series(s.owner), done: true}
		})
		if err != nil || took.done {
			return took.series, err
		}
	}
	return keysource.Series{}, fmt.Errorf("others were faster")
}

func (s *simSeries) Open(ctx context.Context, seen int64) (keysource.Series, error) {
	a, err := s.ask(ctx, func(tx *sim.Tx) serAnswer {
		next := max(tx.Get(serCounter), 1)
		if s.rules.fromMax {
			next = 1
			for _, r := range serRows(tx) {
				next = max(next, r.last+1)
			}
		}
		switch {
		case next < seen:
			return serAnswer{series: keysource.Series{First: next}}
		case next > s.limit:
			return serAnswer{full: true}
		}
		row := serRow{first: next, last: min(next+s.size-1, s.limit), next: next, owner: s.owner, epoch: 1}
		if tx.Load(row.key()) != nil && !s.rules.fromMax {
			return serAnswer{series: keysource.Series{First: -1}}
		}
		tx.Note(serOpen, next)
		tx.Set(serCounter, row.last+1)
		s.renew(tx, &row)
		tx.Store(row.key(), row)
		return serAnswer{series: row.series(s.owner)}
	})
	switch {
	case err == nil && a.full:
		return keysource.Series{}, keysource.ErrExhausted
	case a.series.First < 0:
		return keysource.Series{}, keysource.ErrStoreBack
	}
	return a.series, err
}

func (s *simSeries) GiveUp(ctx context.Context, h keysource.Series, to int64) error {
	if s.rules.keeps {
		s.kept.Store(h.First, true)
		return nil
	}
	times := 1
	if s.rules.blind && to < h.Next {
		times = 2
	}
	for i := range times {
		if i > 0 {
			time.Sleep(50 * time.Millisecond)
		}
		_, err := s.ask(ctx, func(tx *sim.Tx) serAnswer {
			row, ok := tx.Load(strconv.FormatInt(h.First, 10)).(serRow)
			mine := row.owner == s.owner && row.epoch == h.Epoch
			if !ok || !mine && !s.rules.blind {
				return serAnswer{}
			}
			tx.Note(serGiveUp, h.Epoch)
			if row.next == h.Next || s.rules.blind {
				row.next = to
			}
			row.owner, row.until, row.renewed = "", 0, 0
			if row.next > row.last {
				tx.Store(row.key(), nil)
				return serAnswer{done: true}
			}
			tx.Store(row.key(), row)
			return serAnswer{done: true}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (s *simSeries) Advance(ctx context.Context, to int64) error {
	_, err := s.ask(ctx, func(tx *sim.Tx) serAnswer {
		if to = (to+s.size-2)/s.size*s.size + 1; tx.Get(serCounter) < to {
			tx.Set(serCounter, to)
		}
		return serAnswer{}
	})
	return err
}

func (s *simSeries) maxKey(ctx context.Context, from, to int64) (int64, error) {
	a, err := s.ask(ctx, func(tx *sim.Tx) serAnswer { return serAnswer{n: tx.MaxKeyIn(from, to)} })
	return a.n, err
}
