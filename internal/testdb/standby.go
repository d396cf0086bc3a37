package testdb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Replication is how the servers of an engine replicate: see [PostgreSQLReplication] and
// [MariaDBReplication].
type Replication struct {
	engine  *Engine
	options func(l *local) []string // options of a server that replicates

	// follow prepares the data folder of a standby, before the server starts; nil if that
	// needs nothing. port is the port of the primary.
	follow func(l *local, port string) error
	begin  []string // statements that let a running standby follow, with %s for the port
	cut    []string // statements after which a standby receives no more changes
	lead   []string // statements that make a standby a primary

	// position is a query for what a primary has written, and reached a query for whether a
	// standby has it, with %s for the answer to position.
	position, reached string

	// rewind is the command that makes the data of a standby from an old primary's data;
	// nil if the data are copied from the new primary, which stops for that.
	rewind func(l *local, port string) ([]string, error)
}

// PostgreSQLReplication returns streaming replication of PostgreSQL. Its servers are
// asynchronous until synchronous_standby_names is set at the primary.
func PostgreSQLReplication() *Replication {
	return &Replication{
		engine: PostgreSQL(),
		// pg_rewind needs wal_log_hints and full_page_writes.
		options: func(*local) []string {
			return []string{"-c", "wal_log_hints=on", "-c", "full_page_writes=on", "-c", "wal_retrieve_retry_interval=100ms"}
		},
		follow:   followPostgreSQL,
		cut:      []string{"ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()"},
		lead:     []string{"SELECT pg_promote()"},
		position: "SELECT CAST(pg_current_wal_lsn() AS text)",
		reached:  "SELECT CASE WHEN pg_last_wal_replay_lsn() >= '%s' THEN 1 ELSE 0 END",
		rewind: func(l *local, port string) ([]string, error) {
			found, err := findEach("pg_rewind")
			if err == nil {
				// It lets postgres recover the data first, without the options of serve.
				err = setPostgreSQL(l, "wal_log_hints", "on")
			}
			return []string{found["pg_rewind"], "--no-sync", "--target-pgdata=" + l.data, "--source-server=" + conninfoOf(port) + " dbname=postgres"}, err
		},
	}
}

func conninfoOf(port string) string { return "host=127.0.0.1 port=" + port + " user=postgres" }

func followPostgreSQL(l *local, port string) error {
	return errors.Join(setPostgreSQL(l, "primary_conninfo", conninfoOf(port)), os.WriteFile(filepath.Join(l.data, "standby.signal"), nil, 0o644))
}

// setPostgreSQL adds a setting to the data folder of a server that does not run.
func setPostgreSQL(l *local, name, value string) error {
	settings, err := os.OpenFile(filepath.Join(l.data, "postgresql.auto.conf"), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(settings, "%s = '%s'\n", name, value)
	return errors.Join(err, settings.Close())
}

// MariaDBReplication returns asynchronous replication of MariaDB by GTIDs. The servers keep
// what they have received in their own binary logs.
func MariaDBReplication() *Replication {
	return &Replication{
		engine: MariaDB(),
		options: func(l *local) []string {
			return []string{"--server-id=" + l.port, "--log-bin=binlog", "--relay-log=relay", "--log-slave-updates", "--binlog-format=ROW"}
		},
		begin: []string{
			"SET GLOBAL read_only = 1",
			"SET GLOBAL gtid_slave_pos = @@gtid_binlog_pos", // the data are a copy of the primary's
			"CHANGE MASTER TO MASTER_HOST = '127.0.0.1', MASTER_PORT = %s, MASTER_USER = 'root', MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1",
			"START SLAVE",
		},
		cut:      []string{"STOP SLAVE"},
		lead:     []string{"STOP SLAVE", "RESET SLAVE ALL", "SET GLOBAL read_only = 0"},
		position: "SELECT @@gtid_binlog_pos",
		reached:  "SELECT CASE WHEN MASTER_GTID_WAIT('%s', 1) = 0 THEN 1 ELSE 0 END",
	}
}

// Standby is a server that follows a primary.
type Standby struct {
	*Server

	primary *Server
	kind    *Replication
	driver  string
}

// StartStandby returns a running primary and its standby, which belong to the test t alone
// and end with it. driver is the name of a driver of database/sql that reads their DSNs. It
// skips the test as [Server.Need] does.
func StartStandby(t testing.TB, driver string, r *Replication) (*Server, *Standby) {
	t.Helper()
	e := *r.engine
	e.serve = func(l *local) []string { return slices.Concat(r.engine.serve(l), r.options(l)) }
	primary := Start(t, &e)
	primary.Stop(t)
	standby := New(&e)
	standby.mayEnd = true
	t.Cleanup(standby.discard)
	standby.once.Do(func() { standby.use(copyLocal(&e, primary.local.data)) })
	standby.Need(t)
	primary.Restart(t)
	s := &Standby{standby, primary, r, driver}
	s.follow(t)
	return primary, s
}

// follow starts the server as a standby.
func (s *Standby) follow(t testing.TB) {
	t.Helper()
	port := s.primary.local.port
	if s.kind.follow != nil {
		if err := s.kind.follow(s.local, port); err != nil {
			t.Fatalf("testdb: %s: %v", s.engine.name, err)
		}
	}
	s.Restart(t)
	for _, statement := range s.kind.begin {
		s.must(t, strings.ReplaceAll(statement, "%s", port))
	}
	s.CatchUp(t)
}

func (s *Standby) must(t testing.TB, statements ...string) {
	t.Helper()
	for _, statement := range statements {
		if err := s.execute(s.driver, statement); err != nil {
			t.Fatalf("testdb: %s: %s: %v", s.engine.name, statement, err)
		}
	}
}

// Cut lets the standby receive no more changes, as a network does that is cut.
func (s *Standby) Cut(t testing.TB) {
	t.Helper()
	s.must(t, s.kind.cut...)
	if s.kind.follow == nil {
		return
	}
	s.ready(t, "it still receives changes", func(ctx context.Context, db *sql.DB) error {
		var n int
		err := db.QueryRowContext(ctx, "SELECT COUNT(*) FROM pg_stat_wal_receiver").Scan(&n)
		if err == nil && n > 0 {
			err = errors.New("there is a WAL receiver")
		}
		return err
	})
}

// Promote makes the standby a primary. It does not look whether the old one still runs.
func (s *Standby) Promote(t testing.TB) {
	t.Helper()
	s.must(t, s.kind.lead...)
}

// CatchUp waits until the standby has all changes that the primary has made by now.
func (s *Standby) CatchUp(t testing.TB) {
	t.Helper()
	db, err := sql.Open(s.driver, s.primary.DSN(""))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var written string
	if err := db.QueryRow(s.kind.position).Scan(&written); err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
	s.ready(t, "the standby does not catch up", func(ctx context.Context, db *sql.DB) error {
		var reached int
		err := db.QueryRowContext(ctx, fmt.Sprintf(s.kind.reached, written)).Scan(&reached)
		if err == nil && reached != 1 {
			err = fmt.Errorf("it lacks %s", written)
		}
		return err
	})
}

func (s *Standby) ready(t testing.TB, failure string, f func(context.Context, *sql.DB) error) {
	t.Helper()
	if err := s.await(s.driver, failure, f); err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
}

// TakeBack makes the old primary, which was killed, a standby of the promoted one, and
// returns it. What only the old primary had is lost.
func (s *Standby) TakeBack(t testing.TB) *Standby {
	t.Helper()
	back := &Standby{s.primary, s.Server, s.kind, s.driver}
	var err error
	if s.kind.rewind != nil {
		s.must(t, "CHECKPOINT") // pg_rewind compares the timelines in the control files
		var command []string
		if command, err = s.kind.rewind(back.local, s.local.port); err == nil {
			err = back.local.finish("rewinding the old primary", command)
		}
	} else {
		s.Stop(t)
		err = os.RemoveAll(back.local.data)
		if err == nil {
			var out []byte
			if out, err = exec.Command("cp", "-a", s.local.data, back.local.data).CombinedOutput(); err != nil {
				err = fmt.Errorf("copying the data folder: %w (%s)", err, out)
			}
		}
		s.Restart(t)
	}
	if err != nil {
		t.Fatalf("testdb: %s: %v", s.engine.name, err)
	}
	back.local.killed = false // the data come from a server that was shut down
	back.follow(t)
	return back
}
