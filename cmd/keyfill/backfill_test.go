package main

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// commandVariable holds a command line for this test binary, with \x1f between its
// words: a process of its own that can be killed.
const commandVariable = "KEYFILL_TEST_COMMAND"

// backfills are tables with rows that have no key: one whose rows a unique column
// identifies, and one whose rows nothing does.
var backfills = []struct {
	name, columns, policy string
}{
	{"beside a key", "id {serial}, key_2 {uuid} NULL UNIQUE, who VARCHAR(20) NOT NULL", "orders: {keys: [{column: key_2, source: uuidv7}]}"},
	{"alone", "key_2 BIGINT NULL UNIQUE, who VARCHAR(20) NOT NULL", "orders: {column: key_2, source: {kind: sequence, ensure_schema: true, block: 100}}"},
}

// TestBackfill: rows get one key each, in batches, over a kill of the process, while
// programs without keyfill insert rows without keys.
func TestBackfill(t *testing.T) {
	for _, c := range backfills {
		t.Run(c.name, func(t *testing.T) {
			eachPlanned(t, func(t *testing.T, p *planned) {
				uuid := map[string]string{"sqlite": "TEXT", "mysql": "CHAR(36)", "pgx": "uuid"}
				p.exec(t, "CREATE TABLE orders ("+strings.NewReplacer("{serial}", serial[p.driver], "{uuid}", uuid[p.driver]).Replace(c.columns)+")")
				for range 20 {
					p.exec(t, "INSERT INTO orders (who) VALUES ('before')"+strings.Repeat(", ('before')", 49))
				}
				file := filepath.Join(t.TempDir(), "keyfill.yaml")
				if err := os.WriteFile(file, []byte("version: 1\nstore_wait: 1m\ntables:\n  "+c.policy+"\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				t.Setenv("KEYFILL_TEST_DSN", p.dsn)
				args := []string{"backfill", "--config", file, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table", "orders"}
				if text := output(t, append(args, "--dry-run")...); !strings.HasPrefix(text, "1000 rows of orders have no key in key_2\n") {
					t.Errorf("--dry-run: %s", text)
				}
				if n := p.count(t, "SELECT COUNT(key_2) FROM orders"); n != 0 {
					t.Errorf("--dry-run has given %d keys", n)
				}

				// Some hundred rows come meanwhile. Without a unique column MySQL reads the
				// table for each batch, so that 20,000 rows would take half a minute.
				load := &insertLoad{count: map[string]int{}, pause: 2 * time.Millisecond}
				old := load.begin(t, "old", p.open(t, ""))
				p.killed(t, append(args, "--batch", "5", "--rate", "20")) // it would take 50 seconds
				old()
				first := p.count(t, "SELECT COUNT(key_2) FROM orders")
				output(t, append(args, "--batch", "170")...)
				if n := p.count(t, "SELECT COUNT(*) FROM orders WHERE key_2 IS NULL"); n != 0 {
					t.Errorf("%d rows have no key", n)
				}
				total, keys := p.count(t, "SELECT COUNT(*) FROM orders"), p.count(t, "SELECT COUNT(DISTINCT key_2) FROM orders")
				if total != keys || total != 1000+load.count["old"] {
					t.Errorf("%d rows have %d keys, want %d", total, keys, 1000+load.count["old"])
				}
				if len(load.failed) > 0 {
					t.Errorf("an INSERT failed: %s", load.failed[0])
				}
				t.Logf("%d rows had keys when it was killed, %d have them now", first, keys)
			})
		})
	}
}

// output runs a command and returns what it prints.
func output(t *testing.T, args ...string) string {
	t.Helper()
	var out, errOut bytes.Buffer
	var logged strings.Builder
	before := slog.Default()
	defer slog.SetDefault(before)
	slog.SetDefault(slog.New(slog.NewTextHandler(&logged, nil)))
	defer func() {
		if logged.Len() > 0 || strings.Contains(errOut.String(), "level=INFO") {
			t.Errorf("the command logs what nobody at a terminal asked for: %s%s", logged.String(), errOut.String())
		}
	}()
	if code := run(context.Background(), args, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Fatalf("keyfill %s: %s", strings.Join(args, " "), &errOut)
	}
	return out.String()
}

func (p *planned) count(t *testing.T, query string) (n int) {
	t.Helper()
	if err := p.raw.QueryRow(query).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// killed runs a command in a process of its own, and kills it when some rows have keys.
func (p *planned) killed(t *testing.T, args []string) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), commandVariable+"="+strings.Join(args, "\x1f"))
	var errOut bytes.Buffer
	cmd.Stderr = &errOut
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for p.count(t, "SELECT COUNT(key_2) FROM orders") < 20 {
		select {
		case err := <-ended:
			t.Fatalf("the process ended before it was killed: %v: %s", err, &errOut)
		case <-time.After(20 * time.Millisecond):
		}
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-ended
}

// TestBackfillRefused: what is wrong with the command line or the policy.
func TestBackfillRefused(t *testing.T) {
	p := &planned{driver: "sqlite", dsn: "file:" + filepath.Join(t.TempDir(), "t.db")}
	p.raw = p.open(t, "")
	p.exec(t, "CREATE TABLE orders (id TEXT, other TEXT)", "CREATE TABLE parts (id TEXT)")
	file := filepath.Join(t.TempDir(), "keyfill.yaml")
	if err := os.WriteFile(file, []byte("version: 1\ntables:\n  orders: {column: id}\n  ordres: {column: id}\n  parts: {column: idd}\n  events: {column: id, source: made}\n"+
		"sources:\n  made: {kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [no]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"--table", "orders"}, 2, "say --config and --table"},
		{[]string{"--config", file, "--table", "orders", "--batch", "0"}, 2, "--batch 0"},
		{[]string{"--config", file, "--table", "parcels"}, 1, "the policy has no table parcels"},
		{[]string{"--config", file, "--table", "order"}, 1, `did you mean "orders" or "ordres"?`},
		{[]string{"--config", file, "--table", "orders", "--column", "idd"}, 1, `did you mean "id"?`},
		{[]string{"--config", file, "--table", "ordres"}, 1, `let this user see it; did you mean "orders"?`},
		{[]string{"--config", file, "--table", "parts"}, 1, `parts has no column idd: name one that it has, or add it first; did you mean "id"?`},
		{[]string{"--config", file, "--table", "orders", "--column", "other"}, 1, "the policy has no key column other"},
		{[]string{"--config", file, "--table", "events"}, 1, "compute each with keysource.UUIDv5"},
		{[]string{"--config", file, "--table", "orders"}, 0, "0 rows of orders have no key in id"},
	} {
		var out, errOut bytes.Buffer
		args := append([]string{"backfill", "--driver", p.driver, "--dsn", p.dsn}, c.args...)
		code := run(context.Background(), args, strings.NewReader(""), &out, &errOut)
		if text := fmt.Sprint(&out, &errOut); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("keyfill %s: exit code %d, want %d and %q: %s", strings.Join(c.args, " "), code, c.code, c.want, text)
		}
	}
}

// TestBackfillLocators: rows are found where a unique column has NULLs, holds text in
// spite of its type, or there is no rowid.
func TestBackfillLocators(t *testing.T) {
	for name, table := range map[string]string{
		"NULLs in a unique column": "CREATE TABLE orders (old_no INTEGER UNIQUE, id INTEGER NOT NULL, line INTEGER NOT NULL, key_2 TEXT UNIQUE, PRIMARY KEY (id, line))",
		"text in a numeric column": "CREATE TABLE orders (old_no INTEGER, id UUID PRIMARY KEY DEFAULT (hex(randomblob(8)) || 'x'), line INTEGER, key_2 TEXT UNIQUE)",
		"a column called rowid":    "CREATE TABLE orders (old_no INTEGER, id INTEGER, line INTEGER, rowid TEXT, key_2 TEXT UNIQUE)",
		"no rowid":                 "CREATE TABLE orders (old_no INTEGER, id INTEGER PRIMARY KEY, line INTEGER, key_2 TEXT UNIQUE) WITHOUT ROWID",
	} {
		t.Run(name, func(t *testing.T) {
			p := &planned{driver: "sqlite", dsn: "file:" + filepath.Join(t.TempDir(), "t.db")}
			p.raw = p.open(t, "")
			p.exec(t, table)
			for i := range 5 {
				if name == "text in a numeric column" {
					p.exec(t, "INSERT INTO orders (line) VALUES (1)")
					continue
				}
				p.exec(t, fmt.Sprintf("INSERT INTO orders (id, line) VALUES (%d, 1)", i))
			}
			file := filepath.Join(t.TempDir(), "keyfill.yaml")
			if err := os.WriteFile(file, []byte("version: 1\ntables:\n  orders: {column: key_2}\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			output(t, "backfill", "--config", file, "--driver", p.driver, "--dsn", p.dsn, "--table", "orders", "--batch", "2")
			if n := p.count(t, "SELECT COUNT(DISTINCT key_2) FROM orders"); n != 5 {
				t.Errorf("%d rows have keys, want 5", n)
			}
		})
	}
}

// config writes a policy of some tables to a file, and returns its name.
func config(t *testing.T, tables string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "keyfill.yaml")
	if err := os.WriteFile(file, []byte("version: 1\nstore_wait: 1m\ntables:\n  "+tables+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestBackfillTriggers: where a trigger takes the keys away again, or stores others, the
// command ends with an error that says so, and reports no row.
func TestBackfillTriggers(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		file := config(t, "orders: {column: key_2}")
		key := map[string]string{"sqlite": "TEXT", "mysql": "CHAR(36)", "pgx": "uuid"}[p.driver]
		columns := []string{"", "id INTEGER PRIMARY KEY, "}
		for _, value := range []string{"NULL", "'00000000-0000-4000-8000-000000000001'"} {
			for _, column := range columns {
				p.exec(t, "DROP TABLE IF EXISTS orders")
				p.exec(t, "CREATE TABLE orders ("+column+"key_2 "+key+", who VARCHAR(20))")
				for i := range 5 {
					if column == "" {
						p.exec(t, "INSERT INTO orders (who) VALUES ('before')")
					} else {
						p.exec(t, fmt.Sprintf("INSERT INTO orders (id, who) VALUES (%d, 'before')", i))
					}
				}
				p.exec(t, map[string][]string{
					"sqlite": {"CREATE TRIGGER take_back AFTER UPDATE OF key_2 ON orders WHEN NEW.key_2 IS NOT NULL BEGIN UPDATE orders SET key_2 = " + value + " WHERE rowid = NEW.rowid; END"},
					"mysql":  {"CREATE TRIGGER take_back BEFORE UPDATE ON orders FOR EACH ROW SET NEW.key_2 = " + value},
					"pgx": {"CREATE OR REPLACE FUNCTION take_back() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN NEW.key_2 = " + value + "; RETURN NEW; END$$",
						"CREATE TRIGGER take_back BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION take_back()"},
				}[p.driver]...)
				for _, batch := range []string{"2", "10"} {
					var out, errOut bytes.Buffer
					code := run(context.Background(), []string{"backfill", "--config", file, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table", "orders", "--batch", batch},
						strings.NewReader(""), &out, &errOut)
					if code != 1 || !strings.Contains(errOut.String(), "the table does not store the keys") || out.Len() > 0 {
						t.Errorf("%s, batches of %s, columns %q: exit code %d: %s%s", value, batch, column, code, &out, &errOut)
					}
				}
				if n := p.count(t, "SELECT COUNT(key_2) FROM orders"); n != 0 {
					t.Errorf("%s, columns %q: %d rows have a key", value, column, n)
				}
			}
		}
	})
}

// TestBackfillPartitions: rows of different partitions of PostgreSQL that are stored in
// the same place get a key each.
func TestBackfillPartitions(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		if p.driver != "pgx" {
			return
		}
		p.exec(t, "CREATE TABLE orders (who INT NOT NULL, key_2 uuid) PARTITION BY LIST (who)")
		for i := range 4 {
			p.exec(t, fmt.Sprintf("CREATE TABLE orders_%[1]d PARTITION OF orders FOR VALUES IN (%[1]d)", i),
				fmt.Sprintf("INSERT INTO orders (who) SELECT %d FROM generate_series(1, 10)", i))
		}
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		output(t, "backfill", "--config", config(t, "orders: {column: key_2}"), "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table", "orders", "--batch", "7")
		if n := p.count(t, "SELECT COUNT(DISTINCT key_2) FROM orders"); n != 40 {
			t.Errorf("40 rows have %d keys", n)
		}
	})
}

// TestBackfillShared: a state that the command makes begins above the keys of all tables
// that share it.
func TestBackfillShared(t *testing.T) {
	eachPlanned(t, func(t *testing.T, p *planned) {
		p.exec(t, "CREATE TABLE orders (who INT, key_2 BIGINT UNIQUE)", "CREATE TABLE parts (id BIGINT NOT NULL PRIMARY KEY, other BIGINT UNIQUE)")
		for i := range 5 {
			p.exec(t, fmt.Sprintf("INSERT INTO orders (who) VALUES (%d)", i), fmt.Sprintf("INSERT INTO parts VALUES (%d, %d)", i+1, 20+i))
		}
		file := config(t, "orders: {column: key_2, source: numbers}\n  parts: {column: id, source: numbers, keys: [{column: other, source: numbers}]}\n"+
			"sources:\n  numbers: {kind: sequence, ensure_schema: true}")
		t.Setenv("KEYFILL_TEST_DSN", p.dsn)
		output(t, "backfill", "--config", file, "--driver", p.driver, "--dsn-env", "KEYFILL_TEST_DSN", "--table", "orders")
		if n := p.count(t, "SELECT COUNT(*) FROM orders WHERE key_2 > 24"); n != 5 {
			t.Errorf("%d of 5 keys are above those of the other table", n)
		}
	})
}

// TestBackfillLines: backfill tells its progress on a pipe too: a line every ten seconds.
func TestBackfillLines(t *testing.T) {
	folder := t.TempDir()
	dsn, file := filepath.Join(folder, "shop.db"), filepath.Join(folder, "keyfill.yaml")
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("CREATE TABLE orders (id INTEGER PRIMARY KEY, key_2 TEXT UNIQUE); INSERT INTO orders (id) VALUES (1), (2), (3), (4), (5), (6)"); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("version: 1\ntables:\n  orders: {keys: [{column: key_2, source: uuidv7}]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	cmd := newBackfillBy(func() time.Time {
		now = now.Add(2 * time.Second)
		return now
	})
	var out, errOut bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errOut)
	cmd.SetArgs([]string{"--config", file, "--driver", "sqlite", "--dsn", dsn, "--table", "orders", "--batch", "1"})
	if err := cmd.ExecuteContext(t.Context()); err != nil {
		t.Fatalf("%v\n%s", err, &errOut)
	}
	if want := "6 rows of orders have got keys in key_2, 0 have none\n"; out.String() != want {
		t.Errorf("it prints %q, want %q", out.String(), want)
	}
	lines := strings.Split(strings.TrimSuffix(errOut.String(), "\n"), "\n")
	isLine := regexp.MustCompile(`^[1-6] of 6 rows, [01] a second, \d+s left$`)
	if len(lines) < 2 || slices.ContainsFunc(lines, func(line string) bool { return !isLine.MatchString(line) }) {
		t.Errorf("it tells %q, want two lines or more of the form %s", lines, isLine)
	}
}
