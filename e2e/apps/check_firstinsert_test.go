package apps_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/testturn"
)

// firstPolicies are policies of the table orders, with the kind of its key column.
// Policies with procedures and the engine's sequences are not for every engine.
var firstPolicies = []struct{ kind, entry string }{
	{"int", "source: {kind: sequence, ensure_schema: true}"},
	{"int", "source: sequence"},
	{"int", "source: {kind: sequence, ensure_schema: true, create: false}"},
	{"int", "source: {kind: sequence, ensure_schema: true, start: 5}"},
	{"int", "source: {kind: sequence, ensure_schema: true, below: 1000}"},
	{"int", "source: {kind: sequence, ensure_schema: true, below: 1000, start: 500}"},
	{"int", "source: {kind: sequence, ensure_schema: true, below: 1000, start: 5}"},
	{"int", "source: {kind: sequence, ensure_schema: true, below: 50}"},
	{"int", "source: {kind: sequence, ensure_schema: true, exclusive: true}"},
	{"int", "source: {kind: sequence, ensure_schema: true, exclusive: true, start_at: 500}"},
	{"int", "source: {kind: sequence, ensure_schema: true, start_at: 5}"},
	{"int", "source: {kind: sequence, ensure_schema: true, exclusive: true, on_behind: warn, start: 5}"},
	{"int", "source: {kind: sequence, ensure_schema: true, exclusive: true, on_behind: advance, start: 5}"},
	{"int", "source: {kind: sequence, ensure_schema: true, exclusive: true, on_behind: error, start: 5}"},
	{"int", "source: {kind: sequence, ensure_schema: true, transaction: joined}"},
	{"int", "source: {kind: sequence, ensure_schema: true, transaction: joined, exclusive: true, start: 5}"},
	{"int", "source: {kind: sequence, ensure_schema: true, transaction: joined, below: 1000}"},
	{"int", "source: {kind: sequence, ensure_schema: true, skip_range: [2, 9]}"},
	{"int", "source: {kind: sequence, ensure_schema: true, skip_range: [2, 9], start: 3}"},
	{"int", "max_bits: 31, source: {kind: sequence, ensure_schema: true, exclusive: true}"},
	{"int", "source: {kind: sequence, ensure_schema: true, block: 10, start: 5}"},
	{"int", "source: {kind: sequence, ensure_schema: true, via: procedure, exclusive: true, start: 5}"},
	{"int", "source: {kind: sequence, table: {name: numbers, key: name, row: orders, value: value, stored: next}}"},
	{"int", "source: native"},
	{"int", "source: {kind: native, exclusive: true}"},
	{"int", "source: {kind: native, sequence: numbers}"},
	{"int", "source: maxplusone"},
	{"int", "source: {kind: maxplusone, ensure_schema: true, lock: range, exclusive: true}"},
	{"int", "source: {kind: maxplusone, ensure_schema: true}"},
	{"int", "source: {kind: pseudorandom, ensure_schema: true, exclusive: true}"},
	{"int", "source: {kind: scatter, ensure_schema: true}"},
	{"int", "source: {kind: scatter, ensure_schema: true, exclusive: true}"},
	{"int", "source: {kind: recycled, ensure_schema: true}"},
	{"int", "source: {kind: recycled, ensure_schema: true, exclusive: true, start: 5}"},
	{"int", "source: {kind: snowflake, ensure_schema: true, worker: 3}"},
	{"int", "source: {kind: snowflake, ensure_schema: true, worker_lease: 30s, exclusive: true}"},
	{"int", "source: {kind: snowflake, worker: 3, store: none, exclusive: true}"},
	{"int", "source: identity"},
	{"int", "source: uuidv7"},
	{"int", "layout: string, source: {kind: sequence, ensure_schema: true, exclusive: true}"},
	{"int", "source: {kind: sequence, store: central, ensure_schema: true, exclusive: true, start: 5}"},
	{"int", "source: {kind: sequence, store: central, ensure_schema: true, below: 1000}"},
	{"int", "source: {kind: sequence, store: central}"},
	{"int", "source: {kind: sequence, upstream: central, ensure_schema: true, exclusive: true}"},
	{"within", "source: {kind: sequence, scope: [a], ensure_schema: true, exclusive: true}"},
	{"within", "source: {kind: sequence, scope: [a]}"},
	{"bare", "source: {kind: sequence, ensure_schema: true}"},
	{"bare", "source: {kind: sequence, ensure_schema: true, start: 500}"},
	{"bare", "source: sequence"},
	{"bare", "source: {kind: recycled, ensure_schema: true}"},
	{"bare", "source: {kind: sequence, ensure_schema: true, transaction: joined}"},
	{"text", "source: uuidv7"},
	{"text", "source: ulid"},
	{"text", "source: {kind: coprime, length: 8, ensure_schema: true}"},
	{"text", "source: {kind: composite, worker: 3, ensure_schema: true}"},
	{"text", "source: comb"},
	{"text", "layout: string, source: {kind: sequence, ensure_schema: true}"},
	{"text", "layout: string, source: {kind: sequence, ensure_schema: true, start: 5}"},
	{"text", "layout: string, source: {kind: snowflake, worker: 3, ensure_schema: true}"},
	{"text", "layout: binary"},
	{"bytes", "layout: binary"},
	{"bytes", "source: uuidv7"},
	{"uuid", "source: uuidv4"},
	{"uuid", "source: comb"},
	{"uuid", "source: ulid"},
	{"int", "source: {kind: sequence, scope: [order], ensure_schema: true, exclusive: true}"},
}

// firstTypes are the key columns: plain, and one that the engine fills.
var firstTypes = map[string]map[string][2]string{
	"sqlite":   {"int": {"INTEGER NOT NULL PRIMARY KEY", "INTEGER PRIMARY KEY AUTOINCREMENT"}, "within": {"INTEGER NOT NULL"}, "bare": {"INTEGER NOT NULL"}, "text": {"TEXT NOT NULL PRIMARY KEY"}, "bytes": {"BLOB NOT NULL PRIMARY KEY"}, "uuid": {"TEXT NOT NULL PRIMARY KEY"}},
	"mariadb":  {"int": {"BIGINT NOT NULL PRIMARY KEY", "BIGINT AUTO_INCREMENT PRIMARY KEY"}, "within": {"BIGINT NOT NULL"}, "bare": {"BIGINT NOT NULL"}, "text": {"VARCHAR(40) NOT NULL PRIMARY KEY"}, "bytes": {"BINARY(16) NOT NULL PRIMARY KEY"}, "uuid": {"UUID NOT NULL PRIMARY KEY"}},
	"postgres": {"int": {"bigint NOT NULL PRIMARY KEY", "bigserial PRIMARY KEY"}, "within": {"bigint NOT NULL"}, "bare": {"bigint NOT NULL"}, "text": {"text NOT NULL PRIMARY KEY"}, "bytes": {"bytea NOT NULL PRIMARY KEY"}, "uuid": {"uuid NOT NULL PRIMARY KEY"}},
}

var firstKeys = map[string]string{"int": "70", "within": "70", "bare": "70", "text": "'01890a5d-ac96-774b-bcce-b302099a8057'", "bytes": "'0123456789abcdef'", "uuid": "'01890a5d-ac96-774b-bcce-b302099a8057'"}

// firstCase is a policy, and the state of its table.
type firstCase struct {
	kind, entry string
	made        bool // keyfill's tables are there, and empty

	// state is "empty", "rows", "full": with the greatest key that there is; "counter":
	// with rows of the engine's counter, "raised": with a counter that stands higher.
	state string
}

func firstCases() (all []firstCase) {
	for _, made := range []bool{false, true} {
		for _, p := range firstPolicies {
			for _, state := range []string{"empty", "rows", "full", "counter", "raised"} {
				if p.kind == "int" || state == "empty" || state == "rows" {
					all = append(all, firstCase{p.kind, p.entry, made, state})
				}
			}
		}
	}
	return all
}

// prepare makes the table.
func (c *firstCase) prepare(t *testing.T, s *harness.Scratch) {
	for _, table := range []string{"orders", "keyfill_sequences", "keyfill_workers", "keyfill_series"} {
		executeAll(t, s, "DROP TABLE IF EXISTS "+table)
	}
	column, counts := firstTypes[s.Dialect.Name][c.kind][0], c.state == "counter" || c.state == "raised"
	if counts {
		column = firstTypes[s.Dialect.Name][c.kind][1]
	}
	more := ""
	if c.kind == "within" {
		more = ", PRIMARY KEY (a, id)"
	}
	executeAll(t, s, "CREATE TABLE orders (id "+column+", a INTEGER NOT NULL"+more+")")
	if c.made {
		executeAll(t, s, ownTables(s.Dialect)...)
	}
	switch c.state {
	case "rows":
		executeAll(t, s, "INSERT INTO orders (id, a) VALUES ("+firstKeys[c.kind]+", 1)")
	case "full":
		executeAll(t, s, "INSERT INTO orders (id, a) VALUES (9223372036854775806, 1)")
	case "counter":
		executeAll(t, s, "INSERT INTO orders (a) VALUES (1)", "INSERT INTO orders (a) VALUES (1)",
			"UPDATE orders SET id = 70 WHERE id = 2", raisedTo(s, 70))
	case "raised":
		executeAll(t, s, "INSERT INTO orders (a) VALUES (1)", raisedTo(s, 1000))
	}
}

// raisedTo is the statement after which the engine's counter has given a number.
func raisedTo(s *harness.Scratch, last int) string {
	switch s.Dialect.Name {
	case "sqlite":
		return fmt.Sprintf("UPDATE sqlite_sequence SET seq = %d", last)
	case "postgres":
		return fmt.Sprintf("SELECT setval('orders_id_seq', %d)", last)
	}
	return fmt.Sprintf("ALTER TABLE orders AUTO_INCREMENT = %d", last+1)
}

// TestFirstInsert: a finding has the class first-insert if and only if the first INSERT
// without a key fails, before keyfill's tables are there and after; and where statements are
// the remedy of all such findings, the first INSERT works after them.
func TestFirstInsert(t *testing.T) {
	t.Parallel()
	for worker, e := range checkEngines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			s := e.Scratch(t)
			for i, c := range testturn.Some(t, firstCases(), 8) {
				if s.Dialect.OneWriter {
					s = e.Scratch(t) // a file is made faster than tables are dropped
				}
				// Of two that insert in one process, each needs a number of its own.
				text := "  orders: {column: id, " + strings.ReplaceAll(c.entry, "worker: 3", fmt.Sprint("worker: ", worker)) + "}\n"
				if strings.Contains(c.entry, "central") {
					text += fmt.Sprintf("stores:\n  central: {driver: sqlite, dsn: %q}\n", filepath.Join(t.TempDir(), fmt.Sprintf("%d.db", i)))
				}
				text += "dialect: " + s.Dialect.Name + "\n"
				cfg := parsed(t, text)
				if _, err := cfg.Compile(s.Dialect); err != nil {
					continue
				}
				c.prepare(t, s)
				failed, findings := c.insertFirst(t, s, text)
				if !failed || !slices.ContainsFunc(findings, check.Finding.IsSQL) {
					continue
				}
				runScript(t, s, check.Script(findings))
				if failed, after := c.insertFirst(t, s, text); failed && mendsAll(findings) {
					t.Errorf("%+v: the first INSERT fails behind the remedies of %+v; then there is %+v", c, findings, after)
				}
			}
		})
	}
}

// insertFirst checks the policy, and reports whether the first INSERT fails, which the check
// has to know.
func (c *firstCase) insertFirst(t *testing.T, s *harness.Scratch, text string) (failed bool, findings []check.Finding) {
	findings, _ = look(t, s, text)
	db, _ := s.Open(t, parsed(t, text))
	_, err := db.Exec("INSERT INTO orders (a) VALUES (2)")
	if err := db.Close(); err != nil {
		t.Error(err)
	}
	if is := slices.ContainsFunc(findings, isFirst); is != (err != nil) {
		t.Errorf("%+v: the first INSERT gives %v, and the findings are %+v", *c, err, findings)
	}
	return err != nil, findings
}

func isFirst(f check.Finding) bool { return f.Class == check.FirstInsert }

// mendsAll reports whether statements mend all that fails the first INSERT.
func mendsAll(findings []check.Finding) bool {
	return !slices.ContainsFunc(findings, func(f check.Finding) bool { return isFirst(f) && !f.IsSQL() })
}
