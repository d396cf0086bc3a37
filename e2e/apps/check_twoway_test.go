package apps_test

import (
	"fmt"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// twoWayTables are the tables that the test fills.
var twoWayTables = []string{
	"CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, a INT)",
	"CREATE TABLE invoices (id BIGINT NOT NULL PRIMARY KEY, a INT)",
	"CREATE TABLE flakes (id BIGINT NOT NULL PRIMARY KEY, a INT)",
	"CREATE TABLE taken (id BIGINT NOT NULL PRIMARY KEY, a INT)",
	"CREATE TABLE lines_of (id BIGINT NOT NULL, a BIGINT NOT NULL, PRIMARY KEY (a, id))",
}

// wantTwoWayLogged: a program has one line in its log after its first key, of whichever source
// it is, where part is not empty, and none otherwise.
func wantTwoWayLogged(t *testing.T, s *harness.Scratch, part string) {
	t.Helper()
	const policies = "ensure_schema: true\ntables:\n" + sequencePolicy + `  invoices: {column: id, source: {kind: sequence, transaction: joined}}
  flakes: {column: id, source: {kind: snowflake, worker: 3}}
  taken: {column: id, source: {kind: recycled}}
  lines_of: {column: id, source: {kind: sequence, scope: [a]}}
`
	cfg, err := policy.Parse([]byte("version: 1\ndialect: " + s.Dialect.Name + "\n" + policies))
	if err != nil {
		t.Fatal(err)
	}
	for _, tables := range [][]string{{"orders", "flakes"}, {"invoices"}, {"flakes", "orders"}, {"taken"}, {"lines_of"}} {
		logs := &collected{Handler: slog.DiscardHandler, got: make(chan struct{}, 1)}
		db, _ := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: slog.New(logs)})
		lines := func() (all []string) {
			logs.mu.Lock()
			defer logs.mu.Unlock()
			for _, line := range logs.all {
				if strings.Contains(line, "another server writes") {
					all = append(all, line)
				}
			}
			return all
		}
		for _, table := range tables {
			harness.Exec(t, db, "INSERT INTO "+table+" (a) VALUES (1)")
		}
		if part != "" {
			harness.Eventually(t, func() error {
				if all := lines(); len(all) == 0 || !strings.Contains(all[0], part) {
					return fmt.Errorf("%s: %q, want a line with %q", tables, logs.all, part)
				}
				return nil
			})
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		if all := lines(); len(all) != min(len(part), 1) {
			t.Errorf("%s: %q, want one at most", tables, all)
		}
	}
}

// TestTwoWay: servers that replicate keyfill's tables to each other are found, and those
// that only take or only hand on changes are not.
func TestTwoWay(t *testing.T) {
	t.Parallel()
	wantTwoWay := func(t *testing.T, s *harness.Scratch, part string) {
		t.Helper()
		found, _ := look(t, s, sequencePolicy)
		got := ruled(found, "two-way")
		switch {
		case part == "" && len(got) > 0:
			t.Errorf("%+v, want none", got)
		case part != "" && (len(got) != 1 || got[0].Severity != check.Warning || !strings.Contains(got[0].Message, part)):
			t.Errorf("%+v, want one with %q", found, part)
		}
		wantTwoWayLogged(t, s, part)
	}
	t.Run("MariaDB", func(t *testing.T) {
		t.Parallel()
		var servers [2]*harness.Scratch
		for i := range servers {
			e := harness.MySQLDefault
			e.Server = testdb.Start(t, testdb.MariaDB().With("--log-bin", fmt.Sprintf("--server-id=%d", i+1), "--gtid-domain-id=0"))
			servers[i] = e.Scratch(t)
			executeAll(t, servers[i], ownTables(servers[i].Dialect, twoWayTables...)...)
		}
		follow := func(from, to int) {
			host, port, err := net.SplitHostPort(servers[to].Server.Addr())
			if err != nil {
				t.Fatal(err)
			}
			executeAll(t, servers[to], "CREATE USER IF NOT EXISTS follower@'%' IDENTIFIED BY 'word'", "GRANT REPLICATION SLAVE ON *.* TO follower@'%'")
			executeAll(t, servers[from], fmt.Sprintf("CHANGE MASTER TO MASTER_HOST='%s', MASTER_PORT=%s, MASTER_USER='follower', MASTER_PASSWORD='word'", host, port), "START SLAVE SQL_THREAD", "START SLAVE IO_THREAD")
		}
		wantTwoWay(t, servers[0], "")
		follow(0, 1)
		harness.Exec(t, servers[0].Raw, "SET GLOBAL read_only = 1")
		wantTwoWay(t, servers[0], "")
		wantTwoWay(t, servers[1], "")
		harness.Exec(t, servers[0].Raw, "SET GLOBAL read_only = 0")
		wantTwoWay(t, servers[0], "binary log")
		harness.Exec(t, servers[1].Raw, "SET GLOBAL auto_increment_increment = 2")
		wantTwoWay(t, servers[1], "auto_increment_increment")
		harness.Exec(t, servers[0].Raw, "STOP SLAVE")
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		e := harness.PgxDefault
		e.Server = testdb.Start(t, testdb.PostgreSQL().With("-c", "wal_level=logical"))
		one, two := e.Scratch(t), e.Scratch(t)
		for _, s := range []*harness.Scratch{one, two} {
			executeAll(t, s, append(ownTables(s.Dialect, twoWayTables...), "CREATE PUBLICATION own FOR TABLE keyfill_sequences, orders")...)
		}
		wantTwoWay(t, one, "")
		for i, s := range []*harness.Scratch{one, two} {
			from := []*harness.Scratch{two, one}[i]
			slot := fmt.Sprintf("slot%d", i)
			executeAll(t, from, "SELECT pg_create_logical_replication_slot('"+slot+"', 'pgoutput')")
			executeAll(t, s, fmt.Sprintf("CREATE SUBSCRIPTION sub%d CONNECTION '%s' PUBLICATION own WITH (create_slot = false, slot_name = '%s', copy_data = false)", i, from.Server.DSN(harness.DatabaseOf(t, from)), slot))
			wantTwoWay(t, s, "subscription sub")
		}
		for i, s := range []*harness.Scratch{one, two} {
			executeAll(t, s, fmt.Sprintf("ALTER SUBSCRIPTION sub%d DISABLE", i))
			wantTwoWay(t, s, "")
			executeAll(t, s, fmt.Sprintf("DROP SUBSCRIPTION sub%d", i))
		}
	})
}
