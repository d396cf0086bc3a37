package counting_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/sim"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/keysource"
)

// onMutant is a simOn with a mistake in what it passes to the sequence of a statement's
// connection, or to the store of the sequence.
type onMutant struct {
	simOn
	at func(simOn, *sim.Session) counting.At
}

func (m onMutant) NextOn(ctx context.Context, n int, c *sim.Session) ([]int64, error) {
	return m.reserve(ctx, n, m.at(m.simOn, c))
}

// afterReserve is a store after whose answers something happens.
type afterReserve struct {
	simFile
	seen func(seen int64) int64 // that the store gets; nil: as it is
	then func(r keysource.Reservation, n int64) keysource.Reservation
}

func (s afterReserve) Reserve(ctx context.Context, n, seen int64) (keysource.Reservation, error) {
	if s.seen != nil {
		seen = s.seen(seen)
	}
	r, err := s.simFile.Reserve(ctx, n, seen)
	if err == nil && s.then != nil {
		r = s.then(r, n)
	}
	return r, err
}

// keepsFlight is a Drop that leaves out what is in flight.
type keepsFlight struct{ simOn }

func (s keepsFlight) Drop() { s.DropInHand() }

var onMutants = []struct {
	name   string
	law    string // that it breaks
	at     func(simOn, *sim.Session) counting.At
	source func(simOn) joiner // instead of at
}{
	{
		name: "a block is kept inside an open transaction",
		law:  "unique",
		at: func(s simOn, c *sim.Session) counting.At {
			at := s.at(c)
			at.Open = false
			return at
		},
	},
	{
		name: "seen is raised inside an open transaction",
		law:  "errors",
		at: func(s simOn, c *sim.Session) counting.At {
			at := s.at(c)
			at.Reserver = afterReserve{simFile: simFile{s, c}, then: func(r keysource.Reservation, n int64) keysource.Reservation {
				s.Saw(r.First + n)
				return r
			}}
			return at
		},
	},
	{
		name: "a block is kept whose commit has failed",
		law:  "unique",
		at: func(s simOn, c *sim.Session) counting.At {
			c.Heedless = true
			return s.at(c)
		},
	},
	{
		name: "no floor carried to the store",
		law:  "unique",
		at: func(s simOn, c *sim.Session) counting.At {
			s.Forget()
			at := s.at(c)
			at.Reserver = afterReserve{simFile: simFile{s, c}, seen: func(int64) int64 { return 0 }}
			return at
		},
	},
	{
		name: "another server goes unnoticed",
		law:  "compared",
		at: func(s simOn, c *sim.Session) counting.At {
			at := s.at(c)
			at.Reserver = afterReserve{simFile: simFile{s, c}, then: func(r keysource.Reservation, _ int64) keysource.Reservation {
				r.Server = ""
				return r
			}}
			return at
		},
	},
	{
		name: "a block that comes late is kept behind greater keys",
		law:  "ordered",
		at: func(s simOn, c *sim.Session) counting.At {
			at := s.at(c)
			at.Reserver = afterReserve{simFile: simFile{s, c}, then: func(r keysource.Reservation, _ int64) keysource.Reservation {
				s.ForgetOrder()
				return r
			}}
			return at
		},
	},
	{
		name: "what another statement was given meanwhile is forgotten",
		law:  "unique",
		at: func(s simOn, c *sim.Session) counting.At {
			at := s.at(c)
			at.Reserver = afterReserve{simFile: simFile{s, c}, then: func(r keysource.Reservation, _ int64) keysource.Reservation {
				s.ForgetGiven()
				return r
			}}
			return at
		},
	},
	{
		name:   "block in flight used after Drop",
		law:    "dropped",
		source: func(s simOn) joiner { return keepsFlight{s} },
	},
}

// TestSequenceOnConnectionMutants: the simulation finds every mutant.
func TestSequenceOnConnectionMutants(t *testing.T) {
	for _, m := range testturn.Some(t, onMutants, 3) {
		t.Run(m.name, func(t *testing.T) {
			onTrial(func(s simOn) joiner {
				if m.source != nil {
					return m.source(s)
				}
				return onMutant{s, m.at}
			}).Find(t, m.law, 10_000)
		})
	}
}

// TestSequenceOnConnectionMeetsEverything: a simulation in which nothing goes
// wrong finds nothing.
func TestSequenceOnConnectionMeetsEverything(t *testing.T) {
	sim.NeedsAll(t)
	met := map[string]int{}
	trial := onTrial(nil)
	check := trial.Check
	trial.Check = func(w *sim.World) {
		check(w)
		for _, i := range w.Issues {
			switch own := drawnIn(i); {
			case i.Transaction == nil:
				met["outside"]++
			case own == nil:
				met["inside, of a committed block"]++
			case i.Transaction.Undone:
				met["inside, rolled back"]++
			case own.Lost:
				met["inside, lost"]++
			default:
				met["inside, committed"]++
			}
		}
		for _, c := range w.Server.Undone() {
			met["undone "+c.Note]++
		}
		for _, f := range w.Follows {
			if f.Transaction != nil && f.Err == nil {
				met["advance inside"]++
			}
		}
		met["drop"] += len(w.Drops)
	}
	var mu sync.Mutex // requests fail in several goroutines
	allow := trial.Allow
	trial.Allow = func(w *sim.World, err error) bool {
		mu.Lock()
		defer mu.Unlock()
		for _, cause := range []error{keysource.ErrStoreBack, keysource.ErrStoreBehind, sim.ErrBusy, sim.ErrRefused,
			sim.ErrReset, sim.ErrRolledBack} {
			if errors.Is(err, cause) {
				met[cause.Error()]++
			}
		}
		return allow(w, err)
	}
	for seed := range uint64(130) {
		if w := trial.One(t, seed); len(w.Broken()) > 0 {
			t.Errorf("seed %d: %s", seed, w.Broken())
		}
	}
	for _, what := range []string{"outside", "inside, of a committed block", "inside, rolled back", "inside, lost",
		"inside, committed", "undone " + seqReserve, "undone " + seqMaxKey, "undone " + seqAdvance, "advance inside",
		"drop", keysource.ErrStoreBack.Error(), keysource.ErrStoreBehind.Error(), sim.ErrRefused.Error(),
		sim.ErrReset.Error(), sim.ErrRolledBack.Error()} {
		if met[what] < 5 {
			t.Errorf("%s: only %d times in all", what, met[what])
		}
	}
	t.Log(met)
}
