package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/sqlcode"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// behindLines keeps the lines of the log about sequences that stand below keys in use.
type behindLines struct {
	mu  sync.Mutex
	all []map[string]string
}

func (*behindLines) Enabled(context.Context, slog.Level) bool { return true }
func (l *behindLines) WithAttrs([]slog.Attr) slog.Handler     { return l }
func (l *behindLines) WithGroup(string) slog.Handler          { return l }

func (l *behindLines) Handle(_ context.Context, r slog.Record) error {
	if r.Message != "keyfill: the engine's sequence is behind keys in its tables" {
		return nil
	}
	one := map[string]string{}
	r.Attrs(func(a slog.Attr) bool { one[a.Key] = a.Value.String(); return true })
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, one)
	return nil
}

// take returns the lines since the last call.
func (l *behindLines) take() []map[string]string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

// openNative returns a database whose table t has its id from a sequence, and the lines
// of its log.
func openNative(t *testing.T, s *harness.Scratch, sequence string, block int64) (*sql.DB, *behindLines) {
	t.Helper()
	log := new(behindLines)
	db, _ := s.OpenWith(t, keyfill.Options{Policy: nativeID(s.Engine, sequence, block), Logger: slog.New(log)})
	return db, log
}

// createNative makes the sequence numbers and a table that draws from it.
func createNative(t *testing.T, s *harness.Scratch, block int64) {
	t.Helper()
	harness.Exec(t, s.Raw, fmt.Sprintf("CREATE SEQUENCE numbers INCREMENT BY %d", block))
	harness.Exec(t, s.Raw, "CREATE TABLE t (id "+s.Drawing("numbers")+" NOT NULL PRIMARY KEY, a INT)")
}

// restarts are the ways in which a counter is reset between tests.
func restarts(s *harness.Scratch) [][]string {
	if !s.IsPostgres() {
		return [][]string{
			{"TRUNCATE t", "ALTER SEQUENCE numbers RESTART WITH 1"},
			{"DELETE FROM t", "ALTER SEQUENCE numbers RESTART"},
			{"DELETE FROM t", "DROP TABLE t", "DROP SEQUENCE numbers", "CREATE SEQUENCE numbers", "CREATE TABLE t (id " + s.Drawing("numbers") + " NOT NULL PRIMARY KEY, a INT)"},
		}
	}
	return [][]string{
		{"ALTER SEQUENCE numbers OWNED BY t.id", "TRUNCATE t RESTART IDENTITY"},
		{"DELETE FROM t", "ALTER SEQUENCE numbers RESTART WITH 1"},
		{"DELETE FROM t", "SELECT setval('numbers', 1, false)"},
		{"DELETE FROM t", "DROP TABLE t", "DROP SEQUENCE IF EXISTS numbers", "CREATE SEQUENCE numbers", "CREATE TABLE t (id " + s.Drawing("numbers") + " NOT NULL PRIMARY KEY, a INT)"},
	}
}

// TestNativeRestarted: after the counter was reset a process goes on as plain does, from
// the number that the counter gives.
func TestNativeRestarted(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		createNative(t, s, 1)
		db, log := openNative(t, s, "", 1)
		for _, texts := range restarts(s) {
			for range 3 {
				harness.Exec(t, db, "INSERT INTO t (a) VALUES (1), (2)")
			}
			harness.Must(t, s.Raw, texts...)
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (2), (3)")
			harness.Exec(t, s.Raw, "INSERT INTO t (a) VALUES (4)")
			if got := harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY a"); !slices.Equal(got, harness.UpTo(4)) {
				t.Errorf("after %s the keys are %v", texts, got)
			}
		}
		if lines := log.take(); len(lines) > 0 {
			t.Errorf("logged %v", lines)
		}
	})
}

// isDuplicate reports whether an error is the engine's own for a key that is there.
func isDuplicate(d *dialect.Dialect, err error) bool {
	return err != nil && sqlcode.ClassOf(d, err) == dialect.ErrorDuplicate
}

// TestNativeSeeded: keys that a seed has brought are met as plain meets them, each with
// the engine's error once. One line of the log names the statement that helps.
func TestNativeSeeded(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		createNative(t, s, 1)
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (1, 0), (3, 0), (1000000, 0)")
		db, log := openNative(t, s, "", 1)
		for i, fails := range []bool{true, false, true, false, false} {
			_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
			if isDuplicate(s.Dialect, err) != fails || !fails && err != nil {
				t.Errorf("INSERT %d: %v", i, err)
			}
		}
		if got := fmt.Sprint(harness.IntegersOf(t, s.Raw, "SELECT id FROM t ORDER BY id")); got != "[1 2 3 4 5 1000000]" {
			t.Errorf("stored %s", got)
		}
		lines := log.take()
		if len(lines) != 1 || lines[0]["table"] != "t" || lines[0]["column"] != "id" {
			t.Fatalf("logged %v", lines)
		}
		harness.Exec(t, s.Raw, strings.Replace(lines[0]["remedy"], "<the greatest key>", "1000000", 1))
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (2)")
		if got := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM t"); got != 1_000_001 {
			t.Errorf("after %s the key is %d", lines[0]["remedy"], got)
		}
		if lines := log.take(); len(lines) > 0 {
			t.Errorf("logged %v", lines)
		}
	})
}

// TestNativeBlocksRestarted: with blocks, of which other processes may have some, a
// counter that was reset stays an error. It names a statement, after which the process
// goes on.
//
//deviation:integer-keys | With `native` and blocks, a sequence that was set back is an error of keyfill until it is raised. In a transaction that has locked the table or the sequence, each INSERT draws its own block. | MariaDB; PostgreSQL; SQL Server; Oracle | `TRUNCATE t RESTART IDENTITY` | `block: 1`
func TestNativeBlocksRestarted(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		createNative(t, s, 10)
		db, _ := openNative(t, s, "numbers", 10)
		for range 45 {
			harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		}
		harness.Must(t, s.Raw, "DELETE FROM t", "ALTER SEQUENCE numbers RESTART WITH 1")
		var err error
		for range 50 { // more than what is in hand
			if _, err = db.Exec("INSERT INTO t (a) VALUES (1)"); err != nil {
				break
			}
		}
		if !errors.Is(err, keysource.ErrStoreBack) || strings.Contains(err.Error(), "advance") {
			t.Fatalf("INSERT: %v", err)
		}
		_, remedy, _ := strings.Cut(err.Error(), "run ")
		remedy, _, found := strings.Cut(remedy, " [docs")
		if !found {
			t.Fatalf("no remedy in: %v", err)
		}
		harness.Exec(t, s.Raw, remedy)
		harness.Eventually(t, func() error {
			_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
			return err
		})
	})
}

// TestNativeBlocksBehind: so does one that stands below keys in use from the first.
func TestNativeBlocksBehind(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		createNative(t, s, 10)
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (777, 0)")
		db, _ := openNative(t, s, "numbers", 10)
		_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
		if !errors.Is(err, keysource.ErrStoreBehind) || strings.Contains(err.Error(), "advance") {
			t.Fatalf("INSERT: %v", err)
		}
		_, remedy, _ := strings.Cut(err.Error(), "run ")
		remedy, _, _ = strings.Cut(remedy, " [docs")
		harness.Exec(t, s.Raw, remedy)
		harness.Eventually(t, func() error {
			_, err := db.Exec("INSERT INTO t (a) VALUES (1)")
			return err
		})
		if got := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM t"); got <= 777 {
			t.Errorf("the key is %d", got)
		}
	})
}

// TestNativeSharedBehind: the line names the keys of all tables of the sequence.
func TestNativeSharedBehind(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers")
		for _, table := range []string{"t", "u"} {
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (id BIGINT NOT NULL PRIMARY KEY, a INT)")
		}
		harness.Exec(t, s.Raw, "INSERT INTO u VALUES (50, 0)")
		log := new(behindLines)
		cfg := &policy.Config{
			Dialect: s.Dialect.Name,
			Sources: map[string]policy.Source{"numbers": {Kind: policy.KindNative, Sequence: "numbers"}},
			Tables: map[string]policy.Table{
				"t": {Column: "id", Source: "numbers"}, "u": {Column: "id", Source: "numbers"},
			},
		}
		db, _ := s.OpenWith(t, keyfill.Options{Policy: cfg, Logger: slog.New(log)})
		harness.Exec(t, db, "INSERT INTO t (a) VALUES (1)")
		lines := log.take()
		if len(lines) != 1 || !strings.Contains(lines[0]["remedy"], "u") {
			t.Fatalf("logged %v", lines)
		}
		harness.Exec(t, s.Raw, strings.Replace(lines[0]["remedy"], "<the greatest key>", "50", 1))
		harness.Exec(t, db, "INSERT INTO u (a) VALUES (1)")
		if got := harness.CountInt(t, s.Raw, "SELECT MAX(id) FROM u"); got != 51 {
			t.Errorf("the key is %d", got)
		}
	})
}

// TestNativeCheck: keys above the sequence are a warning of check where INSERTs go on, and
// an error where they do not. The remedy is a statement that the sequence takes.
func TestNativeCheck(t *testing.T) {
	t.Parallel()
	harness.Each(t, []harness.Engine{harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		createNative(t, s, 1)
		harness.Exec(t, s.Raw, "INSERT INTO t (id, a) VALUES (777, 0)")
		for severity, source := range map[string]policy.Source{
			"warning": {Kind: policy.KindNative}, "error": {Kind: policy.KindNative, OnBehind: keysource.RemedyError},
		} {
			_, m := s.Open(t, harness.KeyKind{Source: source}.Config(s.Engine))
			found, err := m.Check(t.Context())
			if err != nil || len(found) != 1 || found[0].Rule != "state-behind" || found[0].Severity != severity {
				t.Fatalf("Check: %+v, %v, want %s", found, err, severity)
			}
			if severity == "error" {
				harness.Exec(t, s.Raw, strings.TrimSuffix(found[0].Remedy, ";"))
			}
			harness.Exec(t, s.Raw, "SELECT setval('numbers', 1)")
		}
	})
}
