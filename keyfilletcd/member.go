package keyfilletcd

import (
	"context"
	"errors"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

const (
	// leastSilence is how long a member is waited for, before another one is asked, that
	// has not been slow. An election takes one to two seconds.
	leastSilence = time.Second

	// mostSilence is how long any member is waited for.
	mostSilence = 8 * time.Second

	// patienceLasts is how long the slowest recent question sets the wait for a member.
	// Quick questions in between do not shorten it.
	patienceLasts = time.Minute
)

// member is one server of the cluster.
type member struct {
	dialling *dialling // nil: there was none, or it has failed

	// patience is how long it is waited for: 0 is leastSilence. It doubles with each
	// silence, so that one that is slow is asked for long enough at some time.
	patience time.Duration
	until    time.Time // when the patience ends
}

// dialling is one attempt to make a client, which asks for a token where there is a user.
type dialling struct {
	link link
	done chan struct{} // closed when it has ended
	conn *connection
	err  error
}

// ask puts a question to the current member. After a silence, and an error that others
// may not have, the next question goes to another member. A client of all members asks by
// turns, and would ask a silent one for the 13 seconds that it takes to find it broken.
// After an error the requested change may have happened.
func (s *store) ask(ctx context.Context, question func(context.Context, *connection) error) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return errClosed
	}
	place := s.asked
	m := &s.members[place]
	d := m.dialling
	if d == nil {
		d = &dialling{done: make(chan struct{})}
		m.dialling = d
		go s.dial(place, d)
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if len(s.members) > 1 {
		limited, cancel = context.WithTimeout(ctx, m.limit())
	}
	s.mu.Unlock()
	defer cancel()

	began := time.Now()
	select {
	case <-d.done:
	case <-limited.Done():
		s.silent(place, time.Since(began))
		return s.silence(ctx, d.link.reached(limited.Err()))
	}
	if d.err != nil {
		return d.err
	}
	err := d.conn.reached(meaning(question(limited, d.conn)))
	switch {
	case err == nil || isLost(err) || errors.Is(err, keysource.ErrStoreState):
		s.answered(place, time.Since(began))
	case errors.Is(err, context.DeadlineExceeded):
		s.silent(place, time.Since(began))
	case !errors.Is(err, context.Canceled): // the caller's context has not ended
		s.leave(place)
	}
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return s.silence(ctx, err)
	}
	return err
}

// silence returns an error of a question whose caller may still have time, and another
// member to ask, when the time of this one is over.
func (s *store) silence(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil || len(s.members) < 2:
		return err
	case errors.Is(err, context.DeadlineExceeded):
		return errSilent
	case isUnreached(err):
		return silence{err}
	}
	return err
}

// silence is errSilent where it is known why a member does not answer.
type silence struct{ error }

func (silence) Is(target error) bool { return target == errSilent }

func (s silence) Unwrap() error { return s.error }

// isUnreached reports whether an error says why a member was not asked.
func isUnreached(err error) bool {
	return errors.Is(err, errReach) || errors.Is(err, errHandshake) || errors.Is(err, errShake) || errors.Is(err, errPreface)
}

// persist asks other members if one does not answer, while there is time, and each of
// them once if they cannot be reached. Sources repeat the questions that they need for
// keys; persist is for questions that no source repeats, and repeating them does no harm.
func (s *store) persist(ctx context.Context, ask func() error) error {
	for unreached := 1; ; {
		err := ask()
		switch {
		case ctx.Err() != nil:
			return err
		case errors.Is(err, errSilent):
		case isUnreached(err) && unreached < len(s.members):
			unreached++
		default:
			return err
		}
	}
}

// dial is the goroutine of one attempt. After an attempt that failed the next caller
// begins one with another member.
func (s *store) dial(place int, d *dialling) {
	defer close(d.done)
	config := s.config
	config.Endpoints = s.config.Endpoints[place : place+1]
	conn, err := connect(config, &d.link)
	d.conn, d.err = conn, d.link.reached(meaning(err))
	s.mu.Lock()
	closed := s.closed
	if err != nil && !closed {
		s.members[place].dialling = nil
	}
	s.mu.Unlock()
	switch {
	case err != nil:
		s.leave(place)
	case closed:
		_ = conn.close() // its context has ended
		d.conn, d.err = nil, errClosed
	}
}

// leave makes another member the one that is asked, if it is this one.
func (s *store) leave(place int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == place {
		s.asked = (place + 1) % len(s.members)
	}
}

// silent notes for how long a member has not answered, and leaves it.
func (s *store) silent(place int, waited time.Duration) {
	s.leave(place)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[place]
	m.need(max(2*waited, m.limit()))
}

// answered notes in which time a member has answered.
func (s *store) answered(place int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[place].need(2 * took)
}

// limit is how long the member is waited for.
func (m *member) limit() time.Duration {
	if time.Now().After(m.until) {
		return leastSilence
	}
	return max(m.patience, leastSilence)
}

// need makes the member be waited for at least that long, for the next while.
func (m *member) need(patience time.Duration) {
	if patience >= m.limit() {
		m.patience = min(patience, mostSilence)
		m.until = time.Now().Add(patienceLasts)
	}
}
