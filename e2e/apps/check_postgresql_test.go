package apps_test

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
)

var postgresqlFaults = []fault{
	{
		name: "36 characters into bytea", schema: []string{"CREATE TABLE orders (id bytea PRIMARY KEY)"},
		policy: "  orders: {column: id, source: uuidv7}\n", fixed: "  orders: {column: id, source: uuidv7, layout: binary}\n",
		rule: "type", table: "orders", column: "id", line: 3, says: "layout: binary",
	},
	{
		name: "ULID into char(20)", schema: []string{"CREATE TABLE orders (id char(20) PRIMARY KEY)"},
		policy: "  orders: {column: id, source: ulid}\n", rule: "type", table: "orders", column: "id", line: 3, says: "26 characters",
	},
	{
		name: "integers into uuid", schema: []string{"CREATE TABLE orders (id uuid PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true, start: 1}}\n", fixed: "  orders: {column: id, source: uuidv7}\n",
		rule: "type", table: "orders", column: "id", line: 3, says: "source: uuidv7",
	},
	{
		name: "serial", schema: []string{"CREATE TABLE orders (id bigserial PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n", fixed: "  orders: {column: id, source: native}\n",
		rule: "engine-fills", table: "orders", column: "id", line: 3, says: "source: native",
	},
	{
		name: "counter below below:", schema: []string{"CREATE TABLE orders (id bigserial PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true, below: 1000, start: 5}}\n",
		rule:   "engine-fills", table: "orders", column: "id", line: 3, says: "setval",
	},
	{
		name: "IDENTITY ALWAYS", schema: []string{"CREATE TABLE orders (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)"},
		policy: "  orders: {column: id, source: native}\n", rule: "identity-always", table: "orders", column: "id", line: 3,
	},
	{
		name: "narrow", schema: []string{"CREATE TABLE orders (id int PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n", rule: "narrow", table: "orders", column: "id", line: 3,
	},
	{
		name: "foreign key", schema: []string{"CREATE TABLE orders (id bigint PRIMARY KEY)", "CREATE TABLE order_lines (id uuid PRIMARY KEY, order_id int REFERENCES orders)"},
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n  order_lines: {column: id, source: uuidv7}\n",
		rule:   "foreign-key", table: "order_lines", column: "order_id", line: 3,
	},
	{
		name: "sequence behind", schema: []string{"CREATE TABLE orders (id bigserial PRIMARY KEY)", "INSERT INTO orders (id) VALUES (40)"},
		policy: "  orders: {column: id, source: native}\n", rule: "state-behind", table: "orders", column: "id", line: 3, says: "setval",
	},
	{
		name: "increment", schema: []string{"CREATE SEQUENCE numbers INCREMENT BY 10", "CREATE TABLE orders (id bigint DEFAULT nextval('numbers') PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: native, sequence: numbers}}\n", fixed: "  orders: {column: id, source: {kind: native, sequence: numbers, block: 10}}\n",
		rule: "sequence", table: "orders", column: "id", line: 3, says: "block: 10",
	},
	{
		name: "cycle", schema: []string{"CREATE SEQUENCE numbers CYCLE", "CREATE TABLE orders (id bigint DEFAULT nextval('numbers') PRIMARY KEY)"},
		policy: "  orders: {column: id, source: native}\n", rule: "sequence", table: "orders", column: "id", line: 3, says: "NO CYCLE",
	},
	{
		name: "no sequence", schema: []string{"CREATE TABLE orders (id bigint PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: native, sequence: numbers}}\n", mend: []string{"CREATE SEQUENCE numbers"},
		rule: "sequence", table: "orders", column: "id", line: 3,
	},
	{
		name: "trigger", schema: []string{"CREATE TABLE orders (id uuid PRIMARY KEY)",
			"CREATE FUNCTION make_key() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.id := gen_random_uuid(); RETURN NEW; END'",
			"CREATE TRIGGER keys BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION make_key()"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "trigger-fills", table: "orders", column: "id", line: 3,
	},
	{
		name: "trigger of a scope", schema: []string{"CREATE TABLE lines (order_id bigint NOT NULL, n bigint NOT NULL, PRIMARY KEY (order_id, n))",
			"CREATE FUNCTION move() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.order_id := NEW.order_id % 10; RETURN NEW; END'",
			"CREATE TRIGGER moves BEFORE INSERT ON lines FOR EACH ROW EXECUTE FUNCTION move()"},
		policy: "  lines: {column: n, source: {kind: sequence, scope: [order_id], ensure_schema: true}}\n",
		rule:   "trigger-fills", table: "lines", column: "order_id", line: 3,
	},
	{
		name: "default", schema: []string{"CREATE TABLE orders (id uuid DEFAULT gen_random_uuid() PRIMARY KEY)"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "default-fills", table: "orders", column: "id", line: 3,
	},
	{
		name: "nullable", schema: []string{"CREATE TABLE orders (id uuid UNIQUE)"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "nullable", table: "orders", column: "id", line: 3,
	},
	{
		name: "not unique", schema: []string{"CREATE TABLE orders (id uuid NOT NULL)"},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
	},
	{
		name: "no index begins with the key", schema: []string{`CREATE TABLE "Orders" (tenant bigint NOT NULL, id bigint NOT NULL, PRIMARY KEY (tenant, id))`},
		policy: "  '\"Orders\"': {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		rule:   "state-missing", table: "Orders", column: "id", line: 3, says: `CREATE INDEX "Orders_id_idx" ON "public"."Orders" ("id");`,
	},
	{
		name: "partitions by another column", schema: []string{
			"CREATE TABLE orders (id uuid NOT NULL, at date NOT NULL, PRIMARY KEY (id, at)) PARTITION BY RANGE (at)",
			"CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
			"CREATE TABLE orders_2 PARTITION OF orders FOR VALUES FROM ('2026-02-01') TO ('2026-03-01') PARTITION BY HASH (at)",
			`CREATE TABLE "orders 2a" PARTITION OF orders_2 FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
		},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
		says: `CREATE UNIQUE INDEX "orders 2a_id_key" ON "orders 2a" ("id");`,
	},
	{
		name: "partitions by another column, and no index", schema: []string{
			"CREATE TABLE orders (id uuid NOT NULL, at date NOT NULL) PARTITION BY RANGE (at)",
			"CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM ('2026-01-01') TO ('2026-02-01')",
		},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
		says: `CREATE UNIQUE INDEX "orders_1_id_key" ON "orders_1" ("id");`,
	},
	{
		name: "partitions by the key", schema: []string{
			"CREATE TABLE orders (id uuid NOT NULL) PARTITION BY HASH (id)",
			"CREATE TABLE orders_1 PARTITION OF orders FOR VALUES WITH (MODULUS 1, REMAINDER 0)",
		},
		policy: "  orders: {column: id, source: uuidv7}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
		says: `CREATE UNIQUE INDEX "orders_id_key" ON "orders" ("id");`,
	},
	{
		name: "partitions by an expression, and the greatest key", schema: []string{
			"CREATE TABLE orders (id bigint NOT NULL, at date NOT NULL) PARTITION BY LIST (date_part('year', at))",
			"CREATE TABLE orders_1 PARTITION OF orders FOR VALUES IN (2026)",
		},
		policy: "  orders: {column: id, source: maxplusone}\n", rule: "not-unique", table: "orders", column: "id", line: 3,
		says: "none can be had over all partitions", mend: []string{"DROP TABLE orders", "CREATE TABLE orders (id bigint PRIMARY KEY)"},
	},
	{
		name: "partition", schema: []string{"CREATE TABLE orders (id bigint PRIMARY KEY) PARTITION BY RANGE (id)", "CREATE TABLE orders_1 PARTITION OF orders FOR VALUES FROM (1) TO (1000)"},
		policy: "  orders_1: {column: id, source: {kind: sequence, ensure_schema: true}}\n", fixed: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n",
		rule: "second-name", table: "orders_1", column: "id", line: 3,
	},
	{
		name: "other schema", schema: []string{"CREATE SCHEMA shop", "CREATE TABLE shop.orders (id uuid PRIMARY KEY)"},
		policy: "  shop.ordres: {column: id, source: uuidv7}\n", fixed: "  shop.orders: {column: id, source: uuidv7}\n",
		rule: "no-table", table: "shop.ordres", line: 3, says: "shop.orders",
	},
	{
		name: "read-only", schema: []string{"CREATE TABLE orders (id uuid PRIMARY KEY)", "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$"},
		policy: "  orders: {column: id, source: uuidv7}\n",
		mend:   []string{"SET default_transaction_read_only = off", "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = off', current_database()); END $$"},
		rule:   "read-only",
	},
	{
		name: "no row", schema: ownTables(dialect.PostgreSQL(), "CREATE TABLE orders (id bigint PRIMARY KEY)", "INSERT INTO orders VALUES (7)"),
		policy: "  orders: {column: id, source: {kind: sequence}}\n", rule: "state-missing", table: "orders", column: "id", line: 3,
	},
	{
		name: "no tables for states", schema: []string{"CREATE TABLE orders (id bigint PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: sequence}}\n", rule: "state-tables", table: "keyfill_sequences", line: 3,
	},
	{
		name: "a series that was not counted", schema: slices.Concat(ownTables(dialect.PostgreSQL(), "CREATE TABLE orders (id bigint PRIMARY KEY)"), leased("'public.orders'", "now() + interval '1 hour'", "now()"),
			[]string{"UPDATE keyfill_sequences SET next_value = 1"}),
		policy: recycledPolicy, rule: "state-behind", table: "orders", column: "id", line: 3, says: "next_value = 1000001",
	},
	{
		name: "a series without its state", schema: slices.Concat(ownTables(dialect.PostgreSQL(), "CREATE TABLE orders (id bigint PRIMARY KEY)"), leased("'public.orders'", "now() + interval '1 hour'", "now()"),
			[]string{"DELETE FROM keyfill_sequences"}),
		policy: recycledPolicy, fixed: "  orders: {column: id, source: {kind: recycled, ensure_schema: true, start: 1000001}}\n",
		rule: "state-behind", table: "orders", column: "id", line: 3, says: "start: 1000001",
	},
	{
		name: "lease of another", schema: slices.Concat(ownTables(dialect.PostgreSQL(), "CREATE TABLE orders (id bigint PRIMARY KEY)"), leased("'public.orders'", "now() + interval '1 hour'", "now()")),
		policy: recycledPolicy, rule: "lease", line: 3, says: "host-7", mend: []string{"DELETE FROM keyfill_series"},
	},
	{
		name: "lease that has run out", schema: slices.Concat(ownTables(dialect.PostgreSQL(), "CREATE TABLE orders (id bigint PRIMARY KEY)"), leased("'public.orders'", "now() - interval '1 hour'", "now()")),
		policy: recycledPolicy, rule: "lease", line: 3, says: "has run out", mend: []string{"DELETE FROM keyfill_series"},
	},
	{
		name: "no key table", schema: []string{"CREATE TABLE orders (id bigint PRIMARY KEY)"},
		policy: keyTablePolicy, rule: "key-table", table: "orders", column: "id", line: 3,
		mend: []string{"CREATE TABLE numbers (name text PRIMARY KEY, value bigint NOT NULL)", "INSERT INTO numbers VALUES ('orders', 1)"},
	},
	{
		name: "key table of text", schema: []string{"CREATE TABLE orders (id bigint PRIMARY KEY)",
			"CREATE TABLE numbers (name text PRIMARY KEY, value text NOT NULL)", "INSERT INTO numbers VALUES ('orders', '1')"},
		policy: keyTablePolicy, rule: "key-table", table: "orders", column: "id", line: 3, mend: []string{"ALTER TABLE numbers ALTER value TYPE bigint USING CAST(value AS bigint)"},
	},
	{
		name: "one state for two columns", schema: ownTables(dialect.PostgreSQL(), "CREATE TABLE items (id bigint PRIMARY KEY)", "CREATE TABLE orders (id bigint PRIMARY KEY)",
			"INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('one', 5, 'public.items', 'id', '', 'x', now())"),
		policy: "  orders: {column: id, source: {kind: sequence, name: one, ensure_schema: true}}\n",
		fixed:  "  orders: {column: id, source: {kind: sequence, name: two, ensure_schema: true}}\n",
		rule:   "bound-twice", table: "orders", column: "id", line: 3,
	},
	{
		name: "bound twice", schema: ownTables(dialect.PostgreSQL(), "CREATE TABLE orders (id bigint PRIMARY KEY)",
			"INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('old', 5, 'public.orders', 'id', '', 'x', now())"),
		policy: "  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n", rule: "bound-twice", table: "orders", column: "id", line: 3,
		mend: []string{"DELETE FROM keyfill_sequences WHERE name = 'old'"}, says: "WHERE name = 'old'",
	},
	{
		name: "behind", schema: ownTables(dialect.PostgreSQL(), "CREATE TABLE orders (id bigint PRIMARY KEY)", "INSERT INTO orders VALUES (70)",
			"INSERT INTO keyfill_sequences (name, next_value, table_name, column_name, parameters, incarnation, updated_at) VALUES ('orders.id', 5, 'public.orders', 'id', '', 'x', now())"),
		policy: "  orders: {column: id, source: {kind: sequence}}\n", rule: "state-behind", table: "orders", column: "id", line: 3,
	},
	{
		name: "collation without case", schema: []string{"CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)", "CREATE TABLE orders (id text COLLATE nocase PRIMARY KEY)"},
		policy: "  orders: {column: id, source: {kind: coprime, length: 8, alphabet: base62, collation: binary, ensure_schema: true}}\n",
		rule:   "collation", table: "orders", column: "id", line: 3,
	},
}
