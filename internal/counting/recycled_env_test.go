package counting_test

import (
	"context"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/keyfill/keyfill/internal/sim/simdb"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/store/series"
	"github.com/keyfill/keyfill/keysource"
)

// What transactions about series are for.
const (
	serMove    = "move"
	serTake    = "take over"
	serOpen    = "open"
	serGiveUp  = "give up"
	serLook    = "look for what is owned" // by its owner
	serAdvance = "advance"
)

// serRow is a row of the table of series, as the laws read it.
type serRow struct {
	first, last, next int64
	owner             string
	epoch             int64

	// renewed is when the row was last written, by the server's clock in milliseconds since
	// 1970.
	renewed int64
}

// serRowOf returns the row that a change has found or left, and whether it is one of series.
func serRowOf(value any) (serRow, bool) {
	r := simdb.Of(serTable, value)
	if r == nil {
		return serRow{}, false
	}
	return serRow{
		first: r.Int("series_first"), last: r.Int("series_last"), next: r.Int("next_value"),
		owner: r.Text("owner"), epoch: r.Int("epoch"), renewed: r.Time("updated_at").UnixMilli(),
	}, true
}

// seriesOf returns the series of an owner in a world.
func (c serConfig) seriesOf(owner string) series.Options {
	return series.Options{
		Sequence: sequence.Sequence{Name: "series", Columns: simColumns, Create: true, Bounds: sequence.Bounds{Max: c.limit}},
		Size:     c.size, Lease: c.lease, Owner: owner,
	}
}

// simSeries says what is done to series, for the laws.
type simSeries struct {
	keysource.SeriesStore
	owner string
}

func (s simSeries) Own(ctx context.Context) (keysource.Series, error) {
	return s.SeriesStore.Own(simdb.Looking(ctx, serLook+" "+s.owner, serTable))
}

func (s simSeries) Move(ctx context.Context, h keysource.Series, to int64) (keysource.Series, bool, error) {
	return s.SeriesStore.Move(simdb.Doing(ctx, serMove, h.Epoch), h, to)
}

func (s simSeries) TakeOver(ctx context.Context, n int64) (keysource.Series, error) {
	return s.SeriesStore.TakeOver(simdb.Doing(ctx, serTake, simdb.ServerTime), n)
}

func (s simSeries) Open(ctx context.Context, seen int64) (keysource.Series, error) {
	return s.SeriesStore.Open(simdb.Doing(ctx, serOpen, 0), seen)
}

func (s simSeries) GiveUp(ctx context.Context, h keysource.Series, to int64) error {
	return s.SeriesStore.GiveUp(simdb.Doing(ctx, serGiveUp, h.Epoch), h, to)
}

func (s simSeries) Advance(ctx context.Context, to int64) error {
	return s.SeriesStore.Advance(simdb.Doing(ctx, serAdvance, 0), to)
}

// keeper is a mutant that does not give its series up, and forgets it.
type keeper struct {
	keysource.SeriesStore
	kept *sync.Map // firsts
}

func (s keeper) Own(ctx context.Context) (keysource.Series, error) {
	own, err := s.SeriesStore.Own(ctx)
	if _, kept := s.kept.Load(own.First); kept {
		own = keysource.Series{}
	}
	return own, err
}

func (s keeper) GiveUp(_ context.Context, h keysource.Series, _ int64) error {
	s.kept.Store(h.First, true)
	return nil
}

// twice is a mutant that gives a rest back twice.
type twice struct{ keysource.SeriesStore }

func (s twice) GiveUp(ctx context.Context, h keysource.Series, to int64) error {
	err := s.SeriesStore.GiveUp(ctx, h, to)
	if err != nil || to >= h.Next {
		return err
	}
	time.Sleep(50 * time.Millisecond)
	return s.SeriesStore.GiveUp(ctx, h, to)
}

// in returns an edit of the statements that begin with a word and are about series.
func in(verb string, edits ...string) func(string) string {
	replace := strings.NewReplacer(edits...)
	return func(text string) string {
		if strings.HasPrefix(text, verb) && strings.Contains(text, serTable) {
			return replace.Replace(text)
		}
		return text
	}
}

// edits applies each edit.
func edits(all ...func(string) string) func(string) string {
	return func(text string) string {
		for _, edit := range all {
			text = edit(text)
		}
		return text
	}
}

// Edits of the statements about series, which all engines have but for the words.
var (
	// A lease has run out in the instant in which it ends.
	earlyLease = edits(in("SELECT", "leased_until < ", "leased_until <= "), in("UPDATE", "leased_until < ", "leased_until <= "))

	// A lease is counted by the client's clock.
	clientLease = func(text string) string {
		for _, now := range []string{"clock_timestamp()", "UTC_TIMESTAMP(6)"} {
			for _, before := range []string{"leased_until < ", "leased_until = "} {
				text = strings.ReplaceAll(text, before+now, before+"sim_client_time()")
			}
		}
		return text
	}

	// Neither the owner nor the epoch is compared when a series is moved.
	anybodyMoves = func(text string) string {
		if !strings.HasPrefix(text, "UPDATE "+serTable) || strings.Contains(text, "owner = ''") {
			return text
		}
		return anyOwner(text)
	}

	// The next series from the rows that are left, not from the counter: not MariaDB's.
	fromRows = func(text string) string {
		return strings.ReplaceAll(text, "UPDATE "+seqTable+"\nSET next_value = next_value + ", "UPDATE "+seqTable+"\nSET next_value = sim_series_end() + ")
	}

	// A series that is just used up, or that is used up, has something left.
	edgeLeft  = edits(in("", "next_value <= series_last - ", "next_value - 1 <= series_last - ", "next_value > series_last", "next_value > series_last + 1"))
	spentLeft = edits(in("", "next_value <= series_last - ", "0 <= series_last - ", "next_value > series_last", "1 = 0"))

	// A move reserves one integer less than it says.
	shortMove = func(text string) string {
		if !strings.HasPrefix(text, "UPDATE "+serTable) || strings.Contains(text, "owner = ''") {
			return text
		}
		before, rest, found := strings.Cut(text, "SET next_value = ")
		to, after, _ := strings.Cut(rest, ",")
		if !found {
			return text
		}
		return before + "SET next_value = GREATEST(next_value, " + to + " - 1)," + after
	}

	// A series that is given up is changed wherever the row stands, and whichever owner
	// has it.
	blindGiveUp = func(text string) string {
		if !strings.HasPrefix(text, "UPDATE "+serTable) || !strings.Contains(text, "owner = ''") {
			return text
		}
		before, _, found := strings.Cut(anyOwner(text), " AND next_value = ")
		if !found {
			return text
		}
		return before
	}
)

// anyOwner leaves the owner and the epoch out of the WHERE.
func anyOwner(text string) string {
	before, rest, found := strings.Cut(text, " AND owner = ")
	if !found {
		return text
	}
	if _, next, ok := strings.Cut(rest, " AND next_value = "); ok {
		return before + " AND next_value = " + next
	}
	return before
}

func (r serRow) key() string { return strconv.FormatInt(r.first, 10) }
