package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"
)

// Database creates an empty database for the test and returns its name, to be
// handed to [Server.DSN]. It is dropped when the test ends, with all that is
// in it. The driver is one registered with database/sql that reads those
// DSNs. It skips the test as [Server.Need] does.
func (s *Server) Database(t testing.TB, driver string) string {
	t.Helper()
	s.Need(t)
	name := "keyfill_" + strings.ToLower(rand.Text()[:12])
	if err := s.execute(driver, "CREATE DATABASE "+name); err != nil {
		t.Fatalf("testdb: %s: creating a database: %v", s.engine.name, err)
	}
	t.Cleanup(func() {
		if s.local != nil && !s.stillRuns(t) {
			return // its data goes with it
		}
		if err := s.execute(driver, fmt.Sprintf(s.engine.drop, name)); err != nil {
			t.Errorf("testdb: %s: dropping the database (is a transaction still open?): %v", s.engine.name, err)
		}
	})
	return name
}

// stillRuns reports whether a server of ours runs, be it again: one that has
// crashed fails the test that finds it so, and no other.
func (s *Server) stillRuns(t testing.TB) bool {
	t.Helper()
	s.crash.Lock()
	defer s.crash.Unlock()
	if err := s.local.crashed(); err != nil {
		t.Errorf("testdb: %s: %v", s.engine.name, err)
		if err := s.local.start(); err != nil {
			t.Errorf("testdb: %s: starting it again: %v", s.engine.name, err)
		}
	}
	return s.local.isRunning()
}

// execute runs a statement on a connection of its own.
func (s *Server) execute(driver, statement string) error {
	db, err := sql.Open(driver, s.DSN(""))
	if err != nil {
		return err
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	_, err = db.ExecContext(ctx, statement)
	return err
}
