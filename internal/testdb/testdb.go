// Package testdb starts throwaway MariaDB and PostgreSQL servers for tests,
// from the programs installed on the machine.
//
//	var mariadb = testdb.New(testdb.MariaDB())
//
//	func TestMain(m *testing.M) { testdb.Main(m, mariadb) }
//
//	func TestOrders(t *testing.T) {
//		name := mariadb.Database(t, "mysql") // skips where there is no MariaDB
//		db, err := sql.Open("mysql", mariadb.DSN(name))
//		…
//	}
//
// A server made by [New] is shared by the tests of one test binary and starts
// when the first test needs it, so a run that selects none of those tests pays
// nothing, and neither does a worker process of a fuzz test. A test that stops
// or kills its server uses one of its own, made by [Start].
//
// # What a server is
//
// It listens on a free port of 127.0.0.1 and on a Unix socket, keeps its data in a folder
// of its own below [os.TempDir], reads no configuration of the machine and lets its
// administrator in without a password. Run by root, which both engines refuse, it belongs
// to the user "nobody". Nothing is flushed to disk, but committed data is handed to the
// operating system, so it survives [Server.Kill].
//
// It never outlives the test binary: see process for how.
//
// # Environment
//
//	KEYFILL_TEST_MARIADB     mysql://user:password@host:port
//	KEYFILL_TEST_POSTGRESQL  postgres://user:password@host:port?sslmode=disable
//	KEYFILL_TEST_POSTGRESQL18  the same for version 18
//
// name a running server to use instead. The user must be allowed to create databases. What
// follows the "?" goes to the driver as it is. [Start] ignores these variables, since a
// test must not kill a server that belongs to the user.
//
//	KEYFILL_TEST_PREPARED    a folder
//
// is where test binaries of one run share data folders that have just been filled, since
// to copy one is cheaper. Every user may write there. "make test" makes the folder and
// removes it: see scripts/quickly.
//
// A server whose programs are not installed skips the test; one that is there
// but does not start, or does not answer, fails it. KEYFILL_TEST_REQUIRE=1
// turns the skips into failures too.
package testdb

import (
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"
)

// Server is a database server. Its methods may be called from several
// goroutines, but [Server.Kill], [Server.Stop] and [Server.Restart] not at the
// same time as each other.
type Server struct {
	engine *Engine

	once    sync.Once // guards the start and the fields below
	err     error     // the error because of which there is no server
	address *url.URL  // user, host and port; never a database
	local   *local    // nil if the environment names the server

	galera *galeraNode // nil unless the server is a node of a Galera cluster
	mayEnd bool        // whether a test may stop or kill the server

	admin  sync.Mutex         // guards admins
	admins map[string]*sql.DB // the administrator's databases, by driver: see administrator

	crash sync.Mutex // held while a test checks whether the server has crashed
}

// New returns a server that starts when it is first needed. It ends with the
// test binary, at the latest.
func New(e *Engine) *Server { return &Server{engine: e} }

// Main runs the tests and then ends the servers and removes their data. It is
// the whole body of a TestMain.
func Main(m *testing.M, servers ...*Server) {
	m.Run() // Run keeps the exit code in m, where package testing finds it
	for _, s := range servers {
		s.discard()
	}
}

// Start returns a running server that belongs to the test t alone and ends
// with it. It skips the test as [Server.Need] does.
func Start(t testing.TB, e *Engine) *Server {
	t.Helper()
	s := New(e)
	s.mayEnd = true
	s.once.Do(s.startLocal)
	t.Cleanup(s.discard)
	s.Need(t)
	return s
}

// Need starts the server if that has not happened yet. It skips the test if the server's
// programs are not installed, and fails it if the server does not start.
func (s *Server) Need(t testing.TB) {
	t.Helper()
	s.once.Do(func() {
		if value := os.Getenv(s.engine.variable); value != "" {
			s.useNamed(value)
			return
		}
		s.startLocal()
	})
	failOrSkip(t, s.engine.name, s.err)
}

// Installed reports whether the server can be used: its programs are installed, or the
// environment names it.
func (s *Server) Installed() bool {
	if os.Getenv(s.engine.variable) != "" {
		return true
	}
	_, err := s.engine.files.find()
	return err == nil
}

// Skip skips the test because what, for example "MariaDB", is missing. Under
// KEYFILL_TEST_REQUIRE=1 it fails the test instead.
func Skip(t testing.TB, what, reason string) {
	t.Helper()
	if os.Getenv("KEYFILL_TEST_REQUIRE") == "1" {
		t.Fatalf("testdb: %s is required but missing: %s", what, reason)
	}
	t.Skipf("testdb: no %s: %s", what, reason)
}

// Addr returns the server's "host:port". It is valid after [Server.Need] and
// stays the same over a restart.
func (s *Server) Addr() string { return s.address.Host }

// DSN returns the data source name of a database on the server: for
// [MariaDB] as go-sql-driver/mysql reads it, for [PostgreSQL] a URL as pgx
// and lib/pq read it. The empty name stands for the administrator's own
// database. It is valid after [Server.Need].
func (s *Server) DSN(database string) string {
	return s.engine.dsn(s.address, database)
}

// SocketDSN returns a DSN with the server's Unix socket, which costs less than its port.
// For a server that the environment names it returns what DSN returns.
func (s *Server) SocketDSN(database string) string {
	if s.local == nil {
		return s.DSN(database)
	}
	return s.engine.path(s.DSN(database), s.engine.socket(s.local))
}

// PID returns the id of the server's process. It works with servers that a test started.
func (s *Server) PID() int { return s.local.process.pid() }

// Kill ends the server and all its processes by SIGKILL and returns when they
// are gone. It works with servers made by [Start] only.
func (s *Server) Kill(t testing.TB) {
	t.Helper()
	if err := s.mustBeLocal(t).kill(); err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
}

// Stop ends the server as its administrator would, without waiting for its
// clients, and keeps its data. It works with servers made by [Start] only.
func (s *Server) Stop(t testing.TB) {
	t.Helper()
	if err := s.mustBeLocal(t).stop(s.engine.stop); err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
}

// Restart starts the server again after [Server.Kill] or [Server.Stop], with
// the same data and address, and returns when it answers.
func (s *Server) Restart(t testing.TB) {
	t.Helper()
	l := s.mustBeLocal(t)
	var err error
	if s.galera != nil {
		err = s.galera.beforeRestart(l)
	}
	if err == nil {
		err = l.start()
	}
	if err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
}

func (s *Server) mustBeLocal(t testing.TB) *local {
	t.Helper()
	s.Need(t)
	if s.local == nil {
		t.Fatalf("testdb: %s: the server that %s names is not ours to stop",
			s.engine.name, s.engine.variable)
	}
	return s.local
}

func (s *Server) startLocal() { s.use(newLocal(s.engine)) }

// use sets the server that was started, or keeps the error because of which it did not
// start.
func (s *Server) use(l *local, err error) {
	if err != nil {
		s.err = err
		return
	}
	s.local = l
	s.address = &url.URL{
		Scheme: s.engine.scheme,
		User:   url.User(s.engine.admin),
		Host:   net.JoinHostPort("127.0.0.1", l.port),
	}
}

// useNamed sets the server that the environment names. Its errors never show the value,
// which may hold a password.
func (s *Server) useNamed(value string) {
	u, err := url.Parse(value)
	if err != nil || u.Scheme != s.engine.scheme || u.Hostname() == "" || u.Port() == "" || u.User == nil {
		s.err = fmt.Errorf("%s is not of the form %s://user:password@host:port", s.engine.variable, s.engine.scheme)
		return
	}
	if u.Path != "" && u.Path != "/" {
		s.err = fmt.Errorf("%s names a database: only the server is wanted", s.engine.variable)
		return
	}
	if err := s.engine.answers("tcp", u.Host, u.User.Username()); err != nil {
		s.err = fmt.Errorf("the server that %s names: %w", s.engine.variable, err)
		return
	}
	s.address = u
}

// discard ends the server, if this process has started it, and removes its data.
func (s *Server) discard() {
	s.once.Do(func() { s.err = fmt.Errorf("the tests are over") })
	s.dismiss()
	if s.local != nil {
		s.local.discard()
	}
}
