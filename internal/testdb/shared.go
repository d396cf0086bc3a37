package testdb

import (
	"errors"
	"sync"
	"testing"
)

// Shared is a server of etcd or Redis that the tests of one test binary share. It starts
// when the first test needs it. Each test uses its own names of states, or prefixes of
// keys; a test that kills, pauses, configures or measures its server starts one of its own.
type Shared[S any] struct {
	name  string
	start func() (S, error)
	end   func(S)

	once   sync.Once // guards the start and the fields below
	server S
	err    error // the error because of which there is no server
}

// SharedEtcd returns a cluster of one member.
func SharedEtcd() *Shared[[]*EtcdMember] {
	return &Shared[[]*EtcdMember]{name: "etcd", start: func() ([]*EtcdMember, error) { return startEtcd(1, nil) }, end: discardEtcd}
}

// SharedRedis returns a server with the settings of [StartRedis].
func SharedRedis() *Shared[*RedisServer] {
	return &Shared[*RedisServer]{name: "Redis", start: func() (*RedisServer, error) {
		l, err := newLocal(redisServer())
		return &RedisServer{l}, err
	}, end: func(s *RedisServer) { s.local.discard() }}
}

// Need returns the server. It skips the test as [Server.Need] does.
func (s *Shared[S]) Need(t testing.TB) S {
	t.Helper()
	failOrSkip(t, s.name, s.begin())
	return s.server
}

func (s *Shared[S]) begin() error {
	s.once.Do(func() { s.server, s.err = s.start() })
	return s.err
}

// Main does for a test binary with this server what [Main] does.
func (s *Shared[S]) Main(m *testing.M) {
	m.Run() // keeps the exit code in m, where package testing finds it
	s.discard()
}

// discard ends the server, if it was ever started.
func (s *Shared[S]) discard() {
	s.once.Do(func() { s.err = errors.New("the tests are over") })
	if s.err == nil {
		s.end(s.server)
	}
}

// failOrSkip skips the test if the programs of a server are missing, and fails it if the
// server has not started for another reason.
func failOrSkip(t testing.TB, name string, err error) {
	t.Helper()
	if missing := (*missingError)(nil); errors.As(err, &missing) {
		Skip(t, name, missing.Error())
	}
	if err != nil {
		t.Fatalf("testdb: %s: %v", name, err)
	}
}
