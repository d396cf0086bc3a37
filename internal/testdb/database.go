package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"testing"
)

// Database creates an empty database for the test and returns its name, to be handed to
// [Server.DSN]. The database is dropped when the test ends, with all that is in it. driver
// is the name of a driver of database/sql that reads those DSNs. Database skips the test as
// [Server.Need] does.
func (s *Server) Database(t testing.TB, driver string) string {
	t.Helper()
	s.Need(t)
	name := "keyfill_" + strings.ToLower(rand.Text()[:12])
	if err := s.create(driver, name); err != nil {
		t.Fatalf("testdb: %s: creating a database: %v", s.engine.name, err)
	}
	if s.galera != nil {
		if err := s.galera.awaitDatabase(driver, name); err != nil {
			t.Fatalf("testdb: %s: %v", s.engine.name, err)
		}
	}
	t.Cleanup(func() {
		if s.local != nil && !s.stillRuns(t) {
			return // the database is removed together with the server's data
		}
		if err := s.execute(driver, fmt.Sprintf(s.engine.statements.drop, name)); err != nil {
			t.Errorf("testdb: %s: dropping the database (is a transaction still open?): %v", s.engine.name, err)
		}
	})
	return name
}

// create creates a database.
func (s *Server) create(driver, name string) (err error) {
	for _, statement := range s.engine.statements.create {
		if err = s.execute(driver, fmt.Sprintf(statement, name)); err == nil {
			break
		}
	}
	return err
}

// stillRuns reports whether a server that this process has started runs. If it has crashed,
// stillRuns fails this test, and starts the server again for the other tests.
func (s *Server) stillRuns(t testing.TB) bool {
	t.Helper()
	s.crash.Lock()
	defer s.crash.Unlock()
	if err := s.local.crashed(); err != nil {
		s.dismiss()
		t.Errorf("testdb: %s: %v", s.engine.name, err)
		if err := s.local.start(); err != nil {
			t.Errorf("testdb: %s: starting it again: %v", s.engine.name, err)
		}
	}
	return s.local.isRunning()
}

// execute runs a statement as the administrator.
func (s *Server) execute(driver, statement string) error {
	db, err := s.administrator(driver)
	if err != nil {
		return err
	}
	if s.mayEnd {
		defer db.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// administrator opens the administrator's own database. If no test ends the server, the
// database stays open for the next statement: opening a connection to PostgreSQL takes as
// much time as dropping a database.
func (s *Server) administrator(driver string) (*sql.DB, error) {
	if s.mayEnd {
		return sql.Open(driver, s.DSN(""))
	}
	s.admin.Lock()
	defer s.admin.Unlock()
	if db := s.admins[driver]; db != nil {
		return db, nil
	}
	db, err := sql.Open(driver, s.DSN(""))
	if err != nil {
		return nil, err
	}
	if s.admins == nil {
		s.admins = map[string]*sql.DB{}
	}
	s.admins[driver] = db
	return db, nil
}

// dismiss closes the databases that administrator keeps open.
func (s *Server) dismiss() {
	s.admin.Lock()
	defer s.admin.Unlock()
	for _, db := range s.admins {
		db.Close() // an error does not matter if the server is gone
	}
	s.admins = nil
}
