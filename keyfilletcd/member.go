package keyfilletcd

import (
	"context"
	"errors"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

const (
	// leastSilence is how long a request waits for an answer of a member that was not slow
	// before, until another member is asked. An election takes one to two seconds.
	leastSilence = time.Second

	// mostSilence is the longest time that a request waits for any member.
	mostSilence = 8 * time.Second

	// patienceLasts is how long a slow request influences the time that later requests wait
	// for the same member. Quick requests in between do not shorten it.
	patienceLasts = time.Minute
)

// member is one server of the cluster.
type member struct {
	dialling *dialling // the attempt to connect that is under way or has succeeded; nil if there is none

	// patience is how long a request waits for the member; zero means leastSilence. It
	// doubles each time the member does not answer, so that a slow member finally gets
	// enough time.
	patience time.Duration
	until    time.Time // the time at which patience expires
}

// dialling is one attempt to make a client, which also gets a token if there is a user.
type dialling struct {
	link link
	done chan struct{} // closed when the attempt to connect has ended
	conn *connection
	err  error
}

// ask sends a request to the current member. If the member does not answer, or returns an
// error that other members may not have, the next request goes to another member. One
// client for all members would use them in turn, and would wait 13 seconds for a member
// that does not answer, until it finds the connection broken. After an error the requested
// change may have happened.
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
	case !errors.Is(err, context.Canceled): // the request failed for a reason other than its context, so ask another member next time
		s.leave(place)
	}
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		return s.silence(ctx, err)
	}
	return err
}

// silence returns the error of a request. If this member has not answered in time, but the
// caller still has time and there is another member, the error is errSilent.
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

// silence is errSilent with the reason why a member does not answer.
type silence struct{ error }

func (silence) Is(target error) bool { return target == errSilent }

func (s silence) Unwrap() error { return s.error }

// isUnreached reports whether an error says why a member was not asked.
func isUnreached(err error) bool {
	return errors.Is(err, errReach) || errors.Is(err, errHandshake) || errors.Is(err, errShake) || errors.Is(err, errPreface)
}

// persist calls ask, and calls it again if it fails: until ctx ends if a member does not
// answer, and once for each member if members cannot be reached. It is for requests that
// may be repeated and that sources do not repeat themselves, as they repeat requests for
// keys.
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

// dial makes one attempt to connect, in its own goroutine. If it fails, the next caller
// begins an attempt with another member.
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
		_ = conn.close() // an error of close only says that the client's context has ended
		d.conn, d.err = nil, errClosed
	}
}

// leave makes the next member the current one, if the member with the index place is the
// current one.
func (s *store) leave(place int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == place {
		s.asked = (place + 1) % len(s.members)
	}
}

// silent records how long a request has waited for a member without an answer, and makes
// the next member the current one.
func (s *store) silent(place int, waited time.Duration) {
	s.leave(place)
	s.mu.Lock()
	defer s.mu.Unlock()
	m := &s.members[place]
	m.need(max(2*waited, m.limit()))
}

// answered notes how long a member took to answer.
func (s *store) answered(place int, took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.members[place].need(2 * took)
}

// limit returns how long a request waits for the member.
func (m *member) limit() time.Duration {
	if time.Now().After(m.until) {
		return leastSilence
	}
	return max(m.patience, leastSilence)
}

// need makes requests wait for the member for at least the duration patience, during
// patienceLasts.
func (m *member) need(patience time.Duration) {
	if patience >= m.limit() {
		m.patience = min(patience, mostSilence)
		m.until = time.Now().Add(patienceLasts)
	}
}
