package apps_test

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/store"
)

// ownTables are the statements that create keyfill's tables, followed by others.
func ownTables(d *dialect.Dialect, more ...string) []string { return append(store.DDL(d), more...) }

// leased are the statements that give the first series of orders.id to another process until
// a time, and count it. table is the name of the table as the catalog has it, in SQL.
func leased(table, until, now string) []string {
	return []string{
		"INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('orders.id', 1000001, " + table + ", 'id', 'series=1000000', 'x', " + now + ")",
		"INSERT INTO keyfill_series (name, series_first, series_last, next_value, owner, epoch, leased_until, updated_at) VALUES ('orders.id', 1, 1000000, 50, 'host-7', 1, " + until + ", " + now + ")",
	}
}

const (
	recycledPolicy = "  orders: {column: id, source: {kind: recycled, ensure_schema: true}}\n"
	keyTablePolicy = "  orders: {column: id, source: {kind: sequence, table: {name: numbers, key: name, row: orders, value: value, stored: next}}}\n"
)

var sqliteFaults = []fault{
	{
		name: "typo in a table", schema: []string{"CREATE TABLE orders (id TEXT PRIMARY KEY)"},
		policy: "  ordres: {column: id}\n", fixed: "  orders: {column: id}\n",
		rule: "no-table", table: "ordres", line: 3, says: `did you mean "orders"?`,
	},
	{
		name: "pattern that matches nothing", schema: []string{"CREATE TABLE orders (id TEXT PRIMARY KEY)"},
		policy: "  orders: {column: id}\n  \"log_*\": {column: id}\n", fixed: "  orders: {column: id}\n",
		rule: "no-table", table: "log_*", line: 4,
	},
	{
		name: "table without a rule", schema: []string{"CREATE TABLE orders (id TEXT PRIMARY KEY)", "CREATE TABLE things (id TEXT PRIMARY KEY)"},
		policy: "  orders: {column: id}\n", fixed: "  orders: {column: id}\n  things: {column: id, source: uuidv7}\n",
		rule: "no-rule", table: "things", column: "id", says: "things: {column: id, source: uuidv7}",
	},
	{
		name: "typo in a column", schema: []string{"CREATE TABLE orders (order_id TEXT PRIMARY KEY)"},
		policy: "  orders:\n    column: ordr_id\n", fixed: "  orders: {column: order_id}\n",
		rule: "no-column", table: "orders", column: "ordr_id", line: 4, says: "column: order_id",
	},
	{
		name: "identity of nothing", schema: []string{"CREATE TABLE orders (id TEXT NOT NULL PRIMARY KEY)"},
		policy: "  orders:\n    column: id\n    source: identity\n", fixed: "  orders: {column: id}\n",
		rule: "no-default", table: "orders", column: "id", line: 5, says: "another source",
	},
	{
		name: "key ahead of the clock", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)", "INSERT INTO orders VALUES (9000000000000000000)"},
		policy: "  orders: {column: id, source: {kind: snowflake, worker: 3, store: none}}\n",
		fixed:  "  orders: {column: id, source: {kind: snowflake, worker: 3, store: none, on_behind: warn}}\n",
		rule:   "state-behind", table: "orders", column: "id", line: 3, says: "on_behind: warn",
	},
	{
		name: "not unique", schema: []string{"CREATE TABLE orders (id TEXT NOT NULL)"},
		policy: "  orders: {column: id}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
	},
	{
		name: "not unique within its scope", schema: []string{"CREATE TABLE lines (order_id INTEGER NOT NULL, n INTEGER NOT NULL)"},
		policy: "  lines: {column: n, source: {kind: sequence, scope: [order_id], ensure_schema: true}}\n",
		rule:   "not-unique", table: "lines", column: "n", line: 3, says: `("order_id", "n")`,
	},
	{
		name: "a scope's column by half of its name", schema: []string{"CREATE TABLE lines (order_id INTEGER NOT NULL, line_no INTEGER NOT NULL)"},
		policy: "  lines: {column: line_no, source: {kind: sequence, scope: [order], ensure_schema: true}}\n",
		fixed:  "  lines: {column: line_no, source: {kind: sequence, scope: [order_id], ensure_schema: true}}\n",
		rule:   "no-column", table: "lines", column: "order", line: 3, says: "scope: [order_id]",
	},
	{
		name: "unique without its scope", schema: []string{"CREATE TABLE lines (order_id INTEGER NOT NULL, line_no INTEGER PRIMARY KEY)"},
		policy: "  lines: {column: line_no, source: {kind: sequence, scope: [order_id], ensure_schema: true}}\n",
		fixed:  "  lines: {column: line_no, source: {kind: sequence, ensure_schema: true}}\n",
		rule:   "scope", table: "lines", column: "line_no", line: 3, says: "leave scope: out",
	},
	{
		name: "a key from text that is declared as integer", schema: []string{"CREATE TABLE events (id TEXT NOT NULL PRIMARY KEY, sender TEXT NOT NULL, place INT NOT NULL)"},
		policy: "  events: {column: id, source: {kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [place, sender]}}\n",
		fixed:  "  events: {column: id, source: {kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [place, {column: sender, type: text}]}}\n",
		rule:   "type", table: "events", column: "id", line: 3, says: "from: [place, {column: sender, type: text}]",
	},
	{
		name: "a key from a column by half of its name", schema: []string{"CREATE TABLE events (id TEXT NOT NULL PRIMARY KEY, event_no INT NOT NULL)"},
		policy: "  events: {column: id, source: {kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [event]}}\n",
		fixed:  "  events: {column: id, source: {kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [event_no]}}\n",
		rule:   "no-column", table: "events", column: "event", line: 3, says: "from: [event_no]",
	},
	{
		name: "a key from text without case", schema: []string{"CREATE TABLE events (id TEXT NOT NULL PRIMARY KEY, sender TEXT NOT NULL COLLATE NOCASE, name TEXT NOT NULL)"},
		policy: "  events: {column: id, source: {kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [{column: sender, type: text}]}}\n",
		fixed:  "  events: {column: id, source: {kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [{column: name, type: text}]}}\n",
		rule:   "type", table: "events", column: "id", line: 3, says: "NOCASE",
	},
	{
		name: "greatest key and one, not unique", schema: []string{"CREATE TABLE orders (id INTEGER NOT NULL, n INTEGER PRIMARY KEY)"},
		policy: "  orders: {column: id, source: maxplusone}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
	},
	{
		name: "UUIDs into integers", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)"},
		policy: "  orders: {column: id}\n", fixed: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		rule: "type", table: "orders", column: "id", line: 3, says: "kind: sequence",
	},
	{
		name: "integers into text", schema: []string{"CREATE TABLE orders (id TEXT PRIMARY KEY)"},
		policy: "  orders:\n    column: id\n    source: {kind: sequence, ensure_schema: true}\n",
		fixed:  "  orders: {column: id, layout: string, source: {kind: sequence, ensure_schema: true, start: 1}}\n",
		rule:   "type", table: "orders", column: "id", line: 5, says: "layout: string",
	},
	{
		name: "bytes into text", schema: []string{"CREATE TABLE orders (id TEXT PRIMARY KEY)"},
		policy: "  orders:\n    column: id\n    layout: binary\n", fixed: "  orders: {column: id, layout: string}\n",
		rule: "type", table: "orders", column: "id", line: 5, says: "layout: string",
	},
	{
		name: "AUTOINCREMENT", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY AUTOINCREMENT)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n", fixed: "  orders: {column: id, source: identity}\n",
		rule: "engine-fills", table: "orders", column: "id", line: 3, says: "exclusive",
	},
	{
		name: "trigger", schema: []string{"CREATE TABLE orders (id TEXT PRIMARY KEY, n INTEGER)",
			"CREATE TRIGGER keys AFTER INSERT ON orders BEGIN UPDATE orders SET id = hex(randomblob(16)) WHERE rowid = NEW.rowid; END"},
		policy: "  orders: {column: id}\n", rule: "trigger-fills", table: "orders", column: "id", line: 3,
	},
	{
		name: "computed column", schema: []string{"CREATE TABLE orders (n INTEGER PRIMARY KEY, id INTEGER GENERATED ALWAYS AS (n + 1))"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n", fixed: "  orders: {column: id, source: identity}\n",
		rule: "generated", table: "orders", column: "id", line: 3,
	},
	{
		name: "no tables for states", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence}}\n", rule: "state-tables", table: "keyfill_sequences", line: 3,
	},
	{
		name: "tables of another version", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)",
			"CREATE TABLE keyfill_sequences (name TEXT PRIMARY KEY, next_value INTEGER, table_name TEXT, column_name TEXT, parameters TEXT, updated_at TEXT)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		mend:   []string{"ALTER TABLE keyfill_sequences ADD COLUMN incarnation TEXT"},
		rule:   "state-tables", table: "keyfill_sequences", column: "incarnation", line: 3,
	},
	{
		name: "no row", schema: ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)", "INSERT INTO orders VALUES (7)"),
		policy: "  orders: {column: id, source: {kind: sequence}}\n", rule: "state-missing", table: "orders", column: "id", line: 3,
	},
	{
		name: "behind", schema: ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)", "INSERT INTO orders VALUES (70)",
			"INSERT INTO keyfill_sequences VALUES ('orders.id', 5, 'main.orders', 'id', '', 'x', '2026-01-01')"),
		policy: "  orders: {column: id, source: {kind: sequence, on_behind: error}}\n", rule: "state-behind", table: "orders", column: "id", line: 3,
	},
	{
		name: "behind the keys of another table", schema: ownTables(dialect.SQLite(),
			"CREATE TABLE items (id INTEGER PRIMARY KEY)", "INSERT INTO items VALUES (1000)",
			"CREATE TABLE orders (id INTEGER PRIMARY KEY)", "INSERT INTO orders VALUES (10)",
			"INSERT INTO keyfill_sequences VALUES ('all', 500, '', '', '', 'x', '2026-01-01')"),
		policy: "  items: {column: id, source: all}\n  orders: {column: id, source: all}\nsources:\n  all: {kind: sequence, on_behind: error}\n",
		rule:   "state-behind", table: "orders", column: "id", line: 4,
	},
	{
		name: "bound twice", schema: ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
			"INSERT INTO keyfill_sequences VALUES ('old', 5, 'main.orders', 'id', '', 'x', '2026-01-01')"),
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n", rule: "bound-twice", table: "orders", column: "id", line: 3,
		mend: []string{"DELETE FROM keyfill_sequences WHERE name = 'old'"}, says: "WHERE name = 'old'",
	},
	{
		name: "other parameters", schema: ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
			"INSERT INTO keyfill_sequences VALUES ('orders.id', 5, 'main.orders', 'id', 'series=10', 'x', '2026-01-01')"),
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		fixed:  "  orders: {column: id, source: {kind: recycled, series: 10, ensure_schema: true}}\n",
		rule:   "state-parameters", table: "orders", column: "id", line: 3,
	},
	{
		name: "running out", schema: ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)",
			"INSERT INTO keyfill_sequences VALUES ('orders.id', 1500000000, 'main.orders', 'id', '', 'x', '2026-11-01T00:00:00.000Z')",
			"INSERT INTO keyfill_sequences VALUES ('orders.id read 2026-01-01', 500000000, '', '', 'reading', 'x', '2026-01-01T00:00:00.000Z')"),
		policy: "  orders: {column: id, max_bits: 31, source: {kind: sequence}}\n",
		fixed:  "  orders: {column: id, source: {kind: sequence}}\n",
		rule:   "runs-out", table: "orders", column: "id", line: 3, says: "run out on 20",
	},
	{
		name: "collation", schema: []string{"CREATE TABLE orders (id TEXT COLLATE NOCASE PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: coprime, length: 8, alphabet: base62, ensure_schema: true}}\n",
		fixed:  "  orders: {column: id, source: {kind: coprime, length: 8, alphabet: base32, ensure_schema: true}}\n",
		rule:   "collation", table: "orders", column: "id", line: 3,
	},
	{
		name: "view", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)", "CREATE VIEW shown AS SELECT id FROM orders"},
		policy: "  shown: {column: id, source: {kind: sequence, ensure_schema: true, start: 1}}\n",
		fixed:  "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		rule:   "second-name", table: "shown", column: "id", line: 3,
	},
	{
		name: "no number of a worker", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: snowflake, worker_env: NO_SUCH_WORKER, store: none}}\n",
		fixed:  "  orders: {column: id, source: {kind: snowflake, worker: 3, store: none}}\n",
		rule:   "worker", table: "orders", column: "id", line: 3, says: "NO_SUCH_WORKER",
	},
	{
		name: "store without a DSN", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence, store: central}}\nstores:\n  central: {driver: mysql, dsn_env: NO_SUCH_DSN}\n",
		fixed:  "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		rule:   "store", line: 5, says: "NO_SUCH_DSN",
	},
	{
		name: "store that is not there", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence, store: central}}\nstores:\n  central: {driver: pgx, dsn: \"postgres://u:secretword@127.0.0.1:1/x\"}\n",
		fixed:  "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		rule:   "store", line: 5, says: "cannot be reached",
	},
	{
		name: "a series that was not counted", schema: slices.Concat(ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)"), leased("'main.orders'", "'2999-01-01T00:00:00.000Z'", "'2026-01-01T00:00:00.000Z'"),
			[]string{"UPDATE keyfill_sequences SET next_value = 1"}),
		policy: recycledPolicy, rule: "state-behind", table: "orders", column: "id", line: 3, says: "next_value = 1000001",
	},
	{
		name: "a series without its state", schema: slices.Concat(ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)"), leased("'main.orders'", "'2999-01-01T00:00:00.000Z'", "'2026-01-01T00:00:00.000Z'"),
			[]string{"DELETE FROM keyfill_sequences"}),
		policy: recycledPolicy, fixed: "  orders: {column: id, source: {kind: recycled, ensure_schema: true, start: 1000001}}\n",
		rule: "state-behind", table: "orders", column: "id", line: 3, says: "start: 1000001",
	},
	{
		name: "lease of another", schema: slices.Concat(ownTables(dialect.SQLite(), "CREATE TABLE orders (id INTEGER PRIMARY KEY)"), leased("'main.orders'", "'2999-01-01T00:00:00.000Z'", "'2026-01-01T00:00:00.000Z'")),
		policy: recycledPolicy, rule: "lease", line: 3, says: "host-7", mend: []string{"DELETE FROM keyfill_series"},
	},
	{
		name: "no key table", schema: []string{"CREATE TABLE orders (id INTEGER PRIMARY KEY)"},
		policy: keyTablePolicy, rule: "key-table", table: "orders", column: "id", line: 3,
		mend: []string{"CREATE TABLE numbers (name TEXT PRIMARY KEY, value INTEGER NOT NULL)", "INSERT INTO numbers VALUES ('orders', 1)"},
	},
}
