package apps_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
)

// TestOddNames: a name that is no text stops nothing.
func TestOddNames(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	executeAll(t, s, "CREATE TABLE orders (id TEXT PRIMARY KEY)", "CREATE TABLE odd (\"\xffid\" TEXT PRIMARY KEY)",
		"CREATE TRIGGER odd_trigger BEFORE INSERT ON odd BEGIN SELECT 1; END")
	look(t, s, "  orders: {column: id}\n")
}

// TestOtherStore: SQL for the database of a store is not among the statements for the
// application's.
func TestOtherStore(t *testing.T) {
	s := harness.SQLiteFile.Scratch(t)
	t.Setenv("STORE_DSN", "file:"+filepath.Join(t.TempDir(), "store.db"))
	executeAll(t, s, ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)")...)
	findings, _ := look(t, s, "  orders: {column: id, source: {kind: sequence, store: far, start: 1}}\nstores:\n  far: {driver: sqlite, dsn_env: STORE_DSN}\n")
	if len(findings) != 1 || findings[0].Rule != "state-tables" || strings.HasSuffix(findings[0].Remedy, ";") || !strings.Contains(findings[0].Remedy, `"far"`) {
		t.Errorf("%+v", findings)
	}
}

// TestStoreWithoutDriver: a store without SQL, whose driver the application has and this
// program has not, is no fault of the policy.
func TestStoreWithoutDriver(t *testing.T) {
	t.Parallel()
	s := harness.SQLiteFile.Scratch(t)
	executeAll(t, s, ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)")...)
	for _, where := range []string{"endpoints_env: NO_SUCH_SERVERS", `endpoints: ["etcd-1:2379"]`} {
		findings, _ := look(t, s, "  orders: {column: id, source: {kind: sequence, store: far, start: 1}}\nstores:\n  far: {driver: elsewhere, "+where+"}\n")
		if len(findings) != 1 || findings[0].Rule != "store" || findings[0].Severity != check.Info || !strings.Contains(findings[0].Message, `"elsewhere"`) {
			t.Errorf("%s: %+v", where, findings)
		}
	}
}

// TestMovedToStore: a state that the policy has moved to a store is reported, since the
// row of the old one stays in the application's own database and each INSERT is refused.
func TestMovedToStore(t *testing.T) {
	t.Parallel()
	harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
		executeAll(t, s, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, note INT)")
		insert := func(text string) error {
			db, _ := s.Open(t, parsed(t, text))
			defer db.Close()
			_, err := db.Exec("INSERT INTO orders (note) VALUES (1)")
			return err
		}
		moved := "  orders: {column: id, source: {kind: sequence, ensure_schema: true, store: far, start: 5000}}\nstores:\n  far: {driver: sqlite, dsn: \"file:" + filepath.Join(t.TempDir(), "store.db") + "\"}\n"
		if err := insert("  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n"); err != nil {
			t.Fatal(err)
		}
		if err := insert(moved); err == nil {
			t.Fatal("an INSERT by the state of the store is stored beside the old state")
		}
		findings, _ := look(t, s, moved)
		if len(findings) != 1 || findings[0].Rule != "bound-twice" || findings[0].Line != 3 {
			t.Fatalf("%+v", findings)
		}
		_, mend, _ := strings.Cut(findings[0].Remedy, "own database: ")
		executeAll(t, s, mend)
		if findings, _ = look(t, s, moved); len(findings) != 0 {
			t.Errorf("after %s: %+v", mend, findings)
		}
		if err := insert(moved); err != nil {
			t.Error(err)
		}
		if findings, _ = look(t, s, moved); len(findings) != 0 {
			t.Errorf("with the state of the store in use: %+v", findings)
		}
	})
}

// TestBelowLeftOut: where a policy has lost its below:, the state stands under the keys of
// the engine. No remedy raises it above them, since there would be no gap left.
func TestBelowLeftOut(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	executeAll(t, s, "CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY, note INT) AUTO_INCREMENT = 1000", "INSERT INTO orders (note) VALUES (1)")
	db, _ := s.Open(t, parsed(t, "  orders: {column: id, source: {kind: sequence, ensure_schema: true, below: 1000}}\n"))
	harness.Exec(t, db, "INSERT INTO orders (note) VALUES (2)")
	findings, _ := look(t, s, "  orders: {column: id, source: {kind: sequence}}\n")
	if len(findings) != 1 || findings[0].Rule != "engine-fills" || !strings.Contains(findings[0].Message, "keyfill plan there") {
		t.Errorf("%+v", findings)
	}
}

// TestWrittenNames: a remedy has an odd name so that the policy reads it.
func TestWrittenNames(t *testing.T) {
	t.Parallel()
	harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
		id := typesOf[s.Dialect.Name][0]
		for _, name := range []string{"two words", "it's", "a: b", "User", "on", "2020", "line\nend", `quo"ted`, "b\\s", "wild*", "größe", "x.y", "{a}"} {
			quote := s.Dialect.QuoteIdent
			executeAll(t, s, "CREATE TABLE "+quote(name)+" ("+quote(name+"_id")+" "+id+" NOT NULL PRIMARY KEY)")
			found, _ := look(t, s, "  \"nothing*\": {column: id}\n")
			got := ruled(found, "no-rule")
			if len(got) != 1 {
				t.Errorf("%q: %+v", name, found)
				continue
			}
			_, entry, _ := strings.Cut(got[0].Remedy, "under tables: ")
			if found, _ = look(t, s, "  "+entry+"\n"); len(found) != 0 {
				t.Errorf("%q, by the entry %s: %+v", name, entry, found)
			}
			executeAll(t, s, "DROP TABLE "+quote(name))
		}
	})
}
