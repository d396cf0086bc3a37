package apps_test

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

var mariadbFaults = []fault{
	{
		name: "36 characters into BINARY(16)", schema: []string{"CREATE TABLE orders (id BINARY(16) PRIMARY KEY)"},
		policy: "  orders: {column: id, source: uuidv7}\n", fixed: "  orders: {column: id, source: uuidv7, layout: binary}\n",
		rule: "type", table: "orders", column: "id", line: 3, says: "layout: binary",
	},
	{
		name: "36 characters into CHAR(32)", schema: []string{"CREATE TABLE orders (id CHAR(32) PRIMARY KEY)"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "type", table: "orders", column: "id", line: 3, says: "too short",
	},
	{
		name: "36 characters into VARBINARY(36)", schema: []string{"CREATE TABLE orders (id VARBINARY(36) PRIMARY KEY)"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "type", table: "orders", column: "id", line: 3, says: "36 bytes",
	},
	{
		name: "COMB into uuid", schema: []string{"CREATE TABLE orders (id UUID PRIMARY KEY)"},
		policy: "  orders: {column: id, source: comb}\n", fixed: "  orders: {column: id, source: uuidv7}\n",
		rule: "comb", table: "orders", column: "id", line: 3,
	},
	{
		name: "a swapped uuidv7", schema: []string{"CREATE TABLE orders (id BINARY(16) PRIMARY KEY)"},
		policy: "  orders: {column: id, source: uuidv7, layout: swapped}\n", fixed: "  orders: {column: id, source: uuidv7, layout: binary}\n",
		rule: "unordered", table: "orders", column: "id", line: 3, says: "not ordered",
	},
	{
		name: "collation without case", schema: []string{"CREATE TABLE orders (id VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: coprime, length: 8, alphabet: base62, collation: binary, ensure_schema: true}}\n",
		rule:   "collation", table: "orders", column: "id", line: 3, says: "ascii_bin",
	},
	{
		name: "AUTO_INCREMENT", schema: []string{"CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n", fixed: "  orders: {column: id, source: identity}\n",
		rule: "engine-fills", table: "orders", column: "id", line: 3, says: "AUTO_INCREMENT",
	},
	{
		name: "counter below below:", schema: []string{"CREATE TABLE orders (id BIGINT AUTO_INCREMENT PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true, below: 1000, start: 5}}\n",
		rule:   "engine-fills", table: "orders", column: "id", line: 3, says: "AUTO_INCREMENT = 1000",
	},
	{
		name: "start below the keys", schema: []string{"CREATE TABLE orders (id BIGINT PRIMARY KEY)", "INSERT INTO orders VALUES (70)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true, start: 5}}\n",
		fixed:  "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		rule:   "state-behind", table: "orders", column: "id", line: 3, says: "no start:",
	},
	{
		name: "narrow", schema: []string{"CREATE TABLE orders (id INT PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		rule:   "narrow", table: "orders", column: "id", line: 3, says: "BIGINT",
	},
	{
		name: "a computed column of a scope", schema: []string{"CREATE TABLE order_lines (order_id BIGINT NOT NULL, line_no BIGINT NOT NULL, part BIGINT AS (order_id MOD 8) STORED, PRIMARY KEY (order_id, line_no))"},
		policy: "  order_lines: {column: line_no, source: {kind: sequence, scope: [part], ensure_schema: true}}\n",
		fixed:  "  order_lines: {column: line_no, source: {kind: sequence, scope: [order_id], ensure_schema: true}}\n",
		rule:   "generated", table: "order_lines", column: "part", line: 3, says: "computed from",
	},
	{
		name: "a text column of a scope", schema: []string{"CREATE TABLE order_lines (order_no VARCHAR(9) CHARACTER SET ascii COLLATE ascii_bin, line_no BIGINT NOT NULL, PRIMARY KEY (order_no, line_no))"},
		policy: "  order_lines: {column: line_no, source: {kind: sequence, scope: [order_no], ensure_schema: true}}\n",
		fixed:  "  order_lines: {column: line_no, source: {kind: sequence, scope: [{column: order_no, type: text}], ensure_schema: true}}\n",
		rule:   "state", table: "order_lines", column: "line_no", line: 3, says: "scope: [{column: order_no, type: text}]",
	},
	{
		name: "nullable", schema: []string{"CREATE TABLE orders (id CHAR(36) UNIQUE)"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "nullable", table: "orders", column: "id", line: 3,
	},
	{
		name: "not unique", schema: []string{"CREATE TABLE orders (id CHAR(36) NOT NULL, KEY (id))"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
	},
	{
		name: "partitions by another column", schema: []string{"CREATE TABLE orders (id CHAR(36) NOT NULL, at DATE NOT NULL, KEY (id)) PARTITION BY RANGE COLUMNS (at) (PARTITION p VALUES LESS THAN (MAXVALUE))"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
		says: "none can be had over all partitions", mend: []string{"ALTER TABLE orders REMOVE PARTITIONING", "CREATE UNIQUE INDEX one ON orders (id)"},
	},
	{
		name: "partitions by the key", schema: []string{"CREATE TABLE orders (id CHAR(36) NOT NULL, KEY (id)) PARTITION BY KEY (id) PARTITIONS 2"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
		says: "CREATE UNIQUE INDEX `orders_id_key`",
	},
	{
		name: "trigger", schema: []string{"CREATE TABLE orders (id CHAR(36) PRIMARY KEY)", "CREATE TRIGGER keys_of BEFORE INSERT ON orders FOR EACH ROW SET NEW.id = UUID()"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "trigger-fills", table: "orders", column: "id", line: 3, says: "keys_of",
	},
	{
		name: "trigger of a column that the key is made from", schema: []string{"CREATE TABLE events (id CHAR(36) PRIMARY KEY, sender VARCHAR(20) COLLATE utf8mb4_bin NOT NULL)",
			"CREATE TRIGGER lower_of BEFORE INSERT ON events FOR EACH ROW SET NEW.sender = LOWER(NEW.sender)"},
		policy: "  events: {column: id, source: {kind: uuidv5, namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17, from: [{column: sender, type: text}]}}\n",
		rule:   "trigger-fills", table: "events", column: "sender", line: 3, says: "lower_of",
	},
	{
		name: "default", schema: []string{"CREATE TABLE orders (id CHAR(36) DEFAULT (UUID()) PRIMARY KEY)"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "default-fills", table: "orders", column: "id", line: 3,
	},
	{
		name: "case of a table", schema: []string{"CREATE TABLE Orders (id CHAR(36) PRIMARY KEY)"},
		policy: "  orders: {column: id, source: uuidv7}\n", fixed: "  Orders: {column: id, source: uuidv7}\n",
		rule: "table-case", table: "orders", line: 3, says: "lower_case_table_names",
	},
	{
		name: "typo in a table", schema: []string{"CREATE TABLE customers (id CHAR(36) PRIMARY KEY)"},
		policy: "  costumers: {column: id, source: uuidv7}\n", fixed: "  customers: {column: id, source: uuidv7}\n",
		rule: "no-table", table: "costumers", line: 3, says: `did you mean "customers"?`,
	},
	{
		name: "table without a rule", schema: []string{"CREATE TABLE orders (id CHAR(36) PRIMARY KEY)", "CREATE TABLE things (id BINARY(16) PRIMARY KEY)"},
		policy: "  orders: {column: id, source: uuidv7}\n", fixed: "  orders: {column: id, source: uuidv7}\n  things: {column: id, source: uuidv7, layout: binary}\n",
		rule: "no-rule", table: "things", column: "id", says: "layout: binary",
	},
	{
		name: "foreign key", schema: []string{"CREATE TABLE orders (id INT PRIMARY KEY)", "CREATE TABLE order_lines (id CHAR(36) PRIMARY KEY, order_id INT, CONSTRAINT parent FOREIGN KEY (order_id) REFERENCES orders (id))"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n  order_lines: {column: id, source: uuidv7}\n",
		mend: []string{"ALTER TABLE order_lines DROP FOREIGN KEY parent", "ALTER TABLE orders MODIFY id BIGINT", "ALTER TABLE order_lines MODIFY order_id BIGINT",
			"ALTER TABLE order_lines ADD FOREIGN KEY (order_id) REFERENCES orders (id)"},
		rule: "foreign-key", table: "order_lines", column: "order_id", line: 3, says: "orders.id",
	},
	{
		name: "behind", schema: ownTables(dialect.MariaDB(), "CREATE TABLE orders (id BIGINT PRIMARY KEY)", "INSERT INTO orders VALUES (70)",
			"INSERT INTO keyfill_sequences VALUES ('orders.id', 5, CONCAT(DATABASE(), '.orders'), 'id', '', 'x', NOW())"),
		policy: "  orders: {column: id, source: {kind: sequence}}\n", rule: "state-behind", table: "orders", column: "id", line: 3,
	},
	{
		name: "bound twice", schema: ownTables(dialect.MariaDB(), "CREATE TABLE orders (id BIGINT PRIMARY KEY)",
			"INSERT INTO keyfill_sequences VALUES ('old', 5, CONCAT(DATABASE(), '.orders'), 'id', '', 'x', NOW())"),
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n", rule: "bound-twice", table: "orders", column: "id", line: 3,
		mend: []string{"DELETE FROM keyfill_sequences WHERE name = 'old'"}, says: "WHERE name = 'old'",
	},
	{
		name: "start_at that was passed", schema: ownTables(dialect.MariaDB(), "CREATE TABLE orders (id BIGINT PRIMARY KEY)",
			"INSERT INTO keyfill_sequences VALUES ('old', 500, CONCAT(DATABASE(), '.orders'), 'id', '', 'x', NOW())"),
		policy: "  orders: {column: id, source: {kind: sequence, name: new, ensure_schema: true, start_at: 400}}\n",
		fixed:  "  orders: {column: id, source: {kind: sequence, name: new, ensure_schema: true, start_at: 500}}\n",
		rule:   "bound-twice", table: "orders", column: "id", line: 3, says: "start_at: above all numbers",
	},
	{
		name: "collation and foreign key", schema: []string{"CREATE TABLE orders (id VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci PRIMARY KEY)",
			"CREATE TABLE order_lines (id CHAR(36) PRIMARY KEY, order_id VARCHAR(8) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci, CONSTRAINT parent FOREIGN KEY (order_id) REFERENCES orders (id))"},
		policy: "  order_lines: {column: id, source: uuidv7}\n  orders: {column: id, source: {kind: coprime, length: 8, alphabet: base62, collation: binary, ensure_schema: true}}\n",
		rule:   "collation", table: "orders", column: "id", line: 4, says: "drop the foreign key parent of order_lines",
		mend: []string{"ALTER TABLE order_lines DROP FOREIGN KEY parent", "ALTER TABLE orders MODIFY id VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin NOT NULL",
			"ALTER TABLE order_lines MODIFY order_id VARCHAR(8) CHARACTER SET ascii COLLATE ascii_bin", "ALTER TABLE order_lines ADD FOREIGN KEY (order_id) REFERENCES orders (id)"},
	},
	{
		name: "a series that was not counted", schema: slices.Concat(ownTables(dialect.MariaDB(), "CREATE TABLE orders (id BIGINT PRIMARY KEY)"), leased("CONCAT(DATABASE(), '.orders')", "UTC_TIMESTAMP() + INTERVAL 1 HOUR", "UTC_TIMESTAMP()"),
			[]string{"UPDATE keyfill_sequences SET next_value = 1"}),
		policy: recycledPolicy, rule: "state-behind", table: "orders", column: "id", line: 3, says: "next_value = 1000001",
	},
	{
		name: "a series without its state", schema: slices.Concat(ownTables(dialect.MariaDB(), "CREATE TABLE orders (id BIGINT PRIMARY KEY)"), leased("CONCAT(DATABASE(), '.orders')", "UTC_TIMESTAMP() + INTERVAL 1 HOUR", "UTC_TIMESTAMP()"),
			[]string{"DELETE FROM keyfill_sequences"}),
		policy: recycledPolicy, fixed: "  orders: {column: id, source: {kind: recycled, ensure_schema: true, start: 1000001}}\n",
		rule: "state-behind", table: "orders", column: "id", line: 3, says: "start: 1000001",
	},
	{
		name: "lease of another", schema: slices.Concat(ownTables(dialect.MariaDB(), "CREATE TABLE orders (id BIGINT PRIMARY KEY)"), leased("CONCAT(DATABASE(), '.orders')", "UTC_TIMESTAMP() + INTERVAL 1 HOUR", "UTC_TIMESTAMP()")),
		policy: recycledPolicy, rule: "lease", line: 3, says: "host-7", mend: []string{"DELETE FROM keyfill_series"},
	},
	{
		name: "lease that has run out", schema: slices.Concat(ownTables(dialect.MariaDB(), "CREATE TABLE orders (id BIGINT PRIMARY KEY)"), leased("CONCAT(DATABASE(), '.orders')", "UTC_TIMESTAMP() - INTERVAL 1 HOUR", "UTC_TIMESTAMP()")),
		policy: recycledPolicy, rule: "lease", line: 3, says: "has run out", mend: []string{"DELETE FROM keyfill_series"},
	},
	{
		name: "no key table", schema: []string{"CREATE TABLE orders (id BIGINT PRIMARY KEY)"},
		policy: keyTablePolicy, rule: "key-table", table: "orders", column: "id", line: 3,
		mend: []string{"CREATE TABLE numbers (name VARCHAR(40) PRIMARY KEY, value BIGINT NOT NULL)", "INSERT INTO numbers VALUES ('orders', 1)"},
	},
	{
		name: "key table without transactions", schema: []string{"CREATE TABLE orders (id BIGINT PRIMARY KEY)",
			"CREATE TABLE numbers (name VARCHAR(40) PRIMARY KEY, value BIGINT NOT NULL) ENGINE=MyISAM", "INSERT INTO numbers VALUES ('orders', 1)"},
		policy: keyTablePolicy, rule: "key-table", table: "orders", column: "id", line: 3, mend: []string{"ALTER TABLE numbers ENGINE=InnoDB"},
	},
	{
		name: "key table of text", schema: []string{"CREATE TABLE orders (id BIGINT PRIMARY KEY)",
			"CREATE TABLE numbers (name VARCHAR(40) PRIMARY KEY, value VARCHAR(9) NOT NULL)", "INSERT INTO numbers VALUES ('orders', '1')"},
		policy: keyTablePolicy, rule: "key-table", table: "orders", column: "id", line: 3, mend: []string{"ALTER TABLE numbers MODIFY value BIGINT NOT NULL"},
	},
	{
		name: "key table behind", schema: []string{"CREATE TABLE orders (id BIGINT PRIMARY KEY)", "INSERT INTO orders VALUES (70)",
			"CREATE TABLE numbers (name VARCHAR(40) PRIMARY KEY, value BIGINT NOT NULL)", "INSERT INTO numbers VALUES ('orders', 1)"},
		policy: keyTablePolicy, rule: "state-behind", table: "orders", column: "id", line: 3, mend: []string{"UPDATE numbers SET value = 71"},
	},
	{
		name: "one state for two columns", schema: ownTables(dialect.MariaDB(), "CREATE TABLE items (id BIGINT PRIMARY KEY)", "CREATE TABLE orders (id BIGINT PRIMARY KEY)",
			"INSERT INTO keyfill_sequences VALUES ('one', 5, CONCAT(DATABASE(), '.items'), 'id', '', 'x', NOW())"),
		policy: "  orders: {column: id, source: {kind: sequence, name: one, ensure_schema: true}}\n",
		fixed:  "  orders: {column: id, source: {kind: sequence, name: two, ensure_schema: true}}\n",
		rule:   "bound-twice", table: "orders", column: "id", line: 3,
	},
	{
		name: "not unique, a long name", schema: []string{"CREATE TABLE " + longName + " (id CHAR(36) NOT NULL, KEY (id))"},
		policy: "  " + longName + ": {column: id, source: uuidv7}\n", rule: "not-unique", table: longName, column: "id", line: 3,
	},
	{
		name: "a state whose name is too long", schema: []string{"CREATE TABLE " + longName + " (id BIGINT NOT NULL PRIMARY KEY)"},
		policy: "  \"a234*\": {column: id, source: {kind: sequence, ensure_schema: true, name: \"{table}{table}{table}\"}}\n",
		fixed:  "  \"a234*\": {column: id, source: {kind: sequence, ensure_schema: true, name: \"{table}\"}}\n",
		rule:   "state", table: longName, column: "id", line: 3, says: "190 characters",
	},
}

// longName has as many characters as MariaDB takes.
const longName = "a234567890123456789012345678901234567890123456789012345678901234"
