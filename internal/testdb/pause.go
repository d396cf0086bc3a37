package testdb

import (
	"errors"
	"syscall"
	"testing"
)

// Pause stops the server and all its processes by SIGSTOP, as a pause of its machine
// does: its connections stay open, without an answer. It works with servers made by
// [Start] only. The server goes on by [Server.Resume].
func (s *Server) Pause(t testing.TB) {
	t.Helper()
	if err := s.mustBeLocal(t).pause(); err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
}

// Resume continues a server after [Server.Pause].
func (s *Server) Resume(t testing.TB) {
	t.Helper()
	if err := s.mustBeLocal(t).resume(); err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
}

// Pause stops the member by SIGSTOP, as a pause of its machine does.
func (m *EtcdMember) Pause(t testing.TB) {
	t.Helper()
	if err := m.local.pause(); err != nil {
		t.Fatalf("testdb: etcd: %v", err)
	}
}

// Resume continues a member after [EtcdMember.Pause].
func (m *EtcdMember) Resume(t testing.TB) {
	t.Helper()
	if err := m.local.resume(); err != nil {
		t.Fatalf("testdb: etcd: %v", err)
	}
}

// Pause stops the server by SIGSTOP, as a pause of its machine does.
func (s *RedisServer) Pause(t testing.TB) {
	t.Helper()
	if err := s.local.pause(); err != nil {
		t.Fatalf("testdb: Redis: %v", err)
	}
}

// Resume continues a server after [RedisServer.Pause].
func (s *RedisServer) Resume(t testing.TB) {
	t.Helper()
	if err := s.local.resume(); err != nil {
		t.Fatalf("testdb: Redis: %v", err)
	}
}

// pause stops the server, and then its child processes: a stopped server starts no more of
// them.
func (l *local) pause() error {
	if !l.isRunning() {
		return errNotRunning
	}
	err := l.process.signal(syscall.SIGSTOP)
	return errors.Join(err, l.signalChildren(syscall.SIGSTOP))
}

// resume continues the child processes, and then the server.
func (l *local) resume() error {
	if !l.isRunning() {
		return errNotRunning
	}
	err := l.signalChildren(syscall.SIGCONT)
	return errors.Join(err, l.process.signal(syscall.SIGCONT))
}

func (l *local) signalChildren(s syscall.Signal) error {
	for _, pid := range childrenOf(l.process.pid()) {
		// The process may have ended already.
		if err := syscall.Kill(pid, s); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	return nil
}
