package counting_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

// errBusy is what a driver returns while another connection writes.
var errBusy = errors.New("database is locked (5) (SQLITE_BUSY)")

// file is a store with one writer at a time, which the transactions of its
// sessions belong to. Once it is in use a test reads and changes its state by
// do.
type file struct {
	mu     sync.Mutex
	writer *session // whose transaction has written
	fileState
}

type fileState struct {
	next     int64 // 0 is 1
	server   string
	most     int64 // the greatest key in the table
	err      error // what calls fail with
	asked    []reserved
	looked   int     // calls of MaxKey
	advanced []int64 // calls of Advance
}

func newFile(st fileState) *file { return &file{fileState: st} }

// do changes the state, if f is not nil, and returns it.
func (f *file) do(change func(*fileState)) fileState {
	f.mu.Lock()
	defer f.mu.Unlock()
	if change != nil {
		change(&f.fileState)
	}
	return f.fileState
}

// session is a connection to a file, for one goroutine.
type session struct {
	f      *file
	open   bool
	before int64         // where the store stood before the transaction
	late   time.Duration // how long an answer is on its way
}

func (s *session) begin() { s.open = true }

// end ends the transaction, if one is open.
func (s *session) end(commit bool) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	if s.f.writer == s {
		if !commit {
			s.f.next = s.before
		}
		s.f.writer = nil
	}
	s.open = false
}

func (s *session) commit()   { s.end(true) }
func (s *session) rollback() { s.end(false) }

// at is the session as the source gets it.
func (s *session) at() counting.At {
	return counting.At{Reserver: s, MaxKey: s.maxKey, Open: s.open}
}

// write locks the store; with no error it returns with the file's mu.
func (s *session) write() error {
	s.f.mu.Lock()
	err := s.f.err
	if err == nil && s.f.writer != nil && s.f.writer != s {
		err = errBusy
	}
	if err != nil {
		s.f.mu.Unlock()
		return err
	}
	if s.f.next == 0 {
		s.f.next = 1
	}
	if s.open && s.f.writer == nil {
		s.f.writer, s.before = s, s.f.next
	}
	return nil
}

func (s *session) Reserve(_ context.Context, n, seen int64) (keysource.Reservation, error) {
	if err := s.write(); err != nil {
		return keysource.Reservation{}, err
	}
	first := s.f.next
	if first >= seen {
		s.f.next += n
	}
	r := keysource.Reservation{First: first, Server: s.f.server}
	s.f.asked = append(s.f.asked, reserved{n: n, seen: seen})
	s.f.mu.Unlock()
	time.Sleep(s.late)
	return r, nil
}

func (s *session) Advance(_ context.Context, to int64) error {
	if err := s.write(); err != nil {
		return err
	}
	defer s.f.mu.Unlock()
	s.f.next = max(s.f.next, to)
	s.f.advanced = append(s.f.advanced, to)
	return nil
}

// maxKey reads, which makes a transaction that writes afterwards fail if another session
// has written in between; so it must not be the first.
func (s *session) maxKey(context.Context) (int64, error) {
	s.f.mu.Lock()
	defer s.f.mu.Unlock()
	s.f.looked++
	if s.open && s.f.writer != s {
		return 0, errors.New("the transaction begins with a read")
	}
	return s.f.most, nil
}

// onConnection returns a source that reserves on the statements' connections.
func onConnection(t testing.TB, o counting.SequenceOptions) *counting.Sequence {
	t.Helper()
	o.OnConnection = true
	s, err := counting.NewSequence(o, keysource.Env{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// reserveOn draws n keys and checks the first.
func reserveOn(t testing.TB, s *counting.Sequence, c *session, n, want int64) {
	t.Helper()
	if first, err := s.ReserveOn(t.Context(), n, c.at()); err != nil || first != want {
		t.Fatalf("ReserveOn(%d) = %d, %v, want %d", n, first, err, want)
	}
}

// refuseOn asks for keys and checks the error.
func refuseOn(t testing.TB, s *counting.Sequence, c *session, n int64, want error) {
	t.Helper()
	if first, err := s.ReserveOn(t.Context(), n, c.at()); !errors.Is(err, want) {
		t.Fatalf("ReserveOn(%d) = %d, %v, want the error %v", n, first, err, want)
	}
}

// askOn asks for a key in a goroutine of its own and returns when that waits or
// has ended.
func askOn(ctx context.Context, s *counting.Sequence, c *session) <-chan result {
	answer := make(chan result, 1)
	at := c.at()
	go func() {
		first, err := s.ReserveOn(ctx, 1, at)
		answer <- result{first: first, err: err}
	}()
	synctest.Wait()
	return answer
}
