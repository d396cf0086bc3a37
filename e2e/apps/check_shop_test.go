package apps_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
)

// shops are tables that are odd and right, for policies that fit them.
var shops = map[string]struct {
	schema []string
	policy string
}{
	"mariadb": {
		[]string{
			"CREATE TABLE `select` (`from` BIGINT NOT NULL PRIMARY KEY, `where` INT)",
			"CREATE TABLE `a``b` (`i``d` CHAR(36) NOT NULL PRIMARY KEY)",
			"CREATE TABLE `it's` (id CHAR(36) NOT NULL PRIMARY KEY)",
			"CREATE TABLE `two words` (`the key` CHAR(36) NOT NULL PRIMARY KEY)",
			"CREATE TABLE `back\\slash` (id BIGINT NOT NULL PRIMARY KEY)",
			"CREATE TABLE größe (schlüssel CHAR(36) NOT NULL PRIMARY KEY)",
			"CREATE TABLE `注文` (`番号` BIGINT NOT NULL PRIMARY KEY)",
			"CREATE TABLE MixedCase (Id CHAR(36) NOT NULL PRIMARY KEY)",
			"CREATE TABLE `dot.ted` (id CHAR(36) NOT NULL PRIMARY KEY)",
			"CREATE TABLE parts (id BIGINT NOT NULL, year INT NOT NULL, PRIMARY KEY (id, year)) PARTITION BY RANGE (year) (PARTITION p1 VALUES LESS THAN (2020), PARTITION p2 VALUES LESS THAN MAXVALUE)",
			"CREATE TABLE hashed (id BIGINT NOT NULL PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 3",
			"CREATE TABLE computed (id CHAR(36) NOT NULL PRIMARY KEY, a INT, b INT AS (a + 1) VIRTUAL, c INT AS (a * 2) PERSISTENT)",
			"CREATE TABLE order_lines (order_id BIGINT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (order_id, n))",
			"CREATE TABLE members (team_id BIGINT NOT NULL, person_id BIGINT NOT NULL, PRIMARY KEY (team_id, person_id))",
			"CREATE TABLE versions (id CHAR(36) NOT NULL PRIMARY KEY, a INT) WITH SYSTEM VERSIONING",
			"CREATE TABLE small_ones (id SMALLINT NOT NULL PRIMARY KEY)",
			"CREATE TABLE unsigned_ones (id INT UNSIGNED NOT NULL PRIMARY KEY)",
			"CREATE TABLE decimals (id DECIMAL(30,0) NOT NULL PRIMARY KEY)",
			"CREATE TABLE colours (id ENUM('red','green') NOT NULL PRIMARY KEY)",
			"CREATE TABLE sets (id SET('a','b') NOT NULL PRIMARY KEY)",
			"CREATE TABLE bits (id BIT(16) NOT NULL PRIMARY KEY)",
			"CREATE TABLE addresses (id INET6 NOT NULL PRIMARY KEY)",
			"CREATE TABLE uuids (id UUID NOT NULL PRIMARY KEY)",
			"CREATE TABLE geometry_t (id CHAR(36) NOT NULL PRIMARY KEY, g GEOMETRY, j JSON)",
			"CREATE TABLE hidden (id CHAR(36) NOT NULL INVISIBLE PRIMARY KEY DEFAULT '', a INT)",
			"CREATE TABLE memory_t (id CHAR(36) NOT NULL PRIMARY KEY) ENGINE=MEMORY",
			"CREATE TABLE aria_t (id CHAR(36) NOT NULL PRIMARY KEY) ENGINE=Aria",
			"CREATE TABLE no_key (a INT, b INT)",
			"CREATE TABLE latin (id CHAR(36) CHARACTER SET latin1 COLLATE latin1_bin NOT NULL PRIMARY KEY)",
			"CREATE TABLE self (id BIGINT NOT NULL PRIMARY KEY, parent BIGINT, FOREIGN KEY (parent) REFERENCES self (id))",
			"CREATE TABLE twice (id CHAR(36) NOT NULL PRIMARY KEY, a INT, UNIQUE (id), UNIQUE (a, id), KEY (a))",
			"CREATE VIEW shown AS SELECT id, a FROM computed",
			"CREATE VIEW broken AS SELECT id FROM twice",
			"CREATE SEQUENCE numbers",
			"CREATE TRIGGER audit AFTER INSERT ON computed FOR EACH ROW INSERT INTO no_key VALUES (NEW.a, 1)",
			"CREATE TRIGGER looks BEFORE INSERT ON versions FOR EACH ROW SET NEW.a = IF(NEW.id = '', 1, 2)",
		},
		"  select: {column: from, source: {kind: sequence, ensure_schema: true}}\n" +
			"  '`a``b`': {column: '`i``d`'}\n  \"`it's`\": {column: id}\n  '`two words`': {column: '`the key`'}\n  '`back\\slash`': {column: id, source: {kind: sequence, ensure_schema: true}}\n" +
			"  größe: {column: schlüssel}\n  注文: {column: 番号, source: {kind: sequence, ensure_schema: true}}\n  MixedCase: {column: id}\n  '`dot.ted`': {column: id}\n" +
			"  parts: {column: id, source: {kind: sequence, ensure_schema: true}}\n  hashed: {column: id, source: {kind: sequence, ensure_schema: true}}\n" +
			"  computed: {column: id}\n  order_lines: {column: n, source: {kind: sequence, scope: [order_id], ensure_schema: true}}\n  versions: {column: id}\n" +
			"  unsigned_ones: {column: id, max_bits: 31, source: {kind: sequence, ensure_schema: true}}\n  decimals: {column: id, source: {kind: sequence, ensure_schema: true}}\n" +
			"  uuids: {column: id}\n  geometry_t: {column: id}\n  hidden: {column: id}\n  memory_t: {column: id}\n  aria_t: {column: id}\n  latin: {column: id}\n" +
			"  self: {column: id, source: {kind: native, sequence: numbers}}\n  twice: {column: id}\ndialect: mariadb\n",
	},
	"postgres": {
		[]string{
			`CREATE TABLE "select" ("from" bigint PRIMARY KEY, "where" int)`,
			`CREATE TABLE "a""b" ("i""d" uuid PRIMARY KEY)`,
			`CREATE TABLE "it's" (id uuid PRIMARY KEY)`,
			`CREATE TABLE "two words" ("the key" uuid PRIMARY KEY)`,
			`CREATE TABLE "back\slash" (id bigint PRIMARY KEY)`,
			`CREATE TABLE größe (schlüssel uuid PRIMARY KEY)`,
			`CREATE TABLE "注文" ("番号" bigint PRIMARY KEY)`,
			`CREATE TABLE "MixedCase" ("Id" uuid PRIMARY KEY)`,
			`CREATE TABLE "dot.ted" (id uuid PRIMARY KEY)`,
			`CREATE TABLE parts (id bigint, year int, PRIMARY KEY (id, year)) PARTITION BY RANGE (year)`,
			`CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (1) TO (2020)`,
			`CREATE TABLE parts_2 PARTITION OF parts DEFAULT PARTITION BY HASH (id)`,
			`CREATE TABLE parts_2_0 PARTITION OF parts_2 FOR VALUES WITH (MODULUS 1, REMAINDER 0)`,
			`CREATE TABLE computed (id uuid PRIMARY KEY, a int, b int GENERATED ALWAYS AS (a + 1) STORED)`,
			`CREATE TABLE lines (order_id bigint, n bigint, PRIMARY KEY (order_id, n))`,
			`CREATE TABLE members (team_id bigint, person_id bigint, PRIMARY KEY (team_id, person_id))`,
			`CREATE DOMAIN ident AS uuid NOT NULL`, `CREATE TABLE domained (id ident PRIMARY KEY)`,
			`CREATE DOMAIN number AS bigint CHECK (VALUE > 0)`, `CREATE TABLE numbered (id number PRIMARY KEY)`,
			`CREATE TYPE colour AS ENUM ('red', 'green')`, `CREATE TABLE colours (id colour PRIMARY KEY)`,
			`CREATE TABLE ancestors (id bigint PRIMARY KEY, a int)`, `CREATE TABLE heirs (b int, PRIMARY KEY (id)) INHERITS (ancestors)`,
			`CREATE TABLE ranges (id int4range PRIMARY KEY)`,
			`CREATE TABLE arrays (id uuid PRIMARY KEY, a int[], h jsonb, t tsvector)`,
			`CREATE TABLE later (id uuid PRIMARY KEY DEFERRABLE INITIALLY DEFERRED)`,
			`CREATE TABLE partial (id uuid NOT NULL, a int)`, `CREATE UNIQUE INDEX ON partial (id) WHERE a > 0`, `CREATE UNIQUE INDEX ON partial (id)`,
			`CREATE TABLE expressed (id uuid PRIMARY KEY, name text)`, `CREATE UNIQUE INDEX ON expressed (lower(name))`,
			`CREATE UNLOGGED TABLE unlogged (id uuid PRIMARY KEY)`,
			`CREATE TABLE no_key (a int, b int)`,
			`CREATE TABLE nothing ()`,
			`CREATE TABLE self (id bigint PRIMARY KEY, parent bigint REFERENCES self)`,
			`CREATE TABLE dropped (gone int, id uuid PRIMARY KEY)`, `ALTER TABLE dropped DROP COLUMN gone`,
			`CREATE SCHEMA "Odd Schema"`, `CREATE TABLE "Odd Schema"."T" (id uuid PRIMARY KEY)`, `CREATE TABLE "Odd Schema".orders (id uuid PRIMARY KEY)`,
			`CREATE VIEW shown AS SELECT id, a FROM computed`, `CREATE MATERIALIZED VIEW kept AS SELECT id FROM computed`,
			`CREATE TABLE ruled (id uuid PRIMARY KEY)`, `CREATE RULE nothing AS ON UPDATE TO ruled DO ALSO NOTHING`,
			`CREATE SEQUENCE numbers`,
			`CREATE FUNCTION looks() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN IF NEW.id IS NOT NULL THEN NEW.a := 1; END IF; RETURN NEW; END'`,
			`CREATE TRIGGER looks BEFORE INSERT ON computed FOR EACH ROW EXECUTE FUNCTION looks()`,
			`CREATE TABLE secured (id uuid PRIMARY KEY)`, `ALTER TABLE secured ENABLE ROW LEVEL SECURITY`,
		},
		"  select: {column: from, source: {kind: sequence, ensure_schema: true}}\n" +
			"  '\"a\"\"b\"': {column: '\"i\"\"d\"'}\n  '\"it''s\"': {column: id}\n  '\"two words\"': {column: '\"the key\"'}\n  '\"back\\slash\"': {column: id, source: {kind: sequence, ensure_schema: true}}\n" +
			"  größe: {column: schlüssel}\n  注文: {column: 番号, source: {kind: sequence, ensure_schema: true}}\n  '\"MixedCase\"': {column: '\"Id\"'}\n  '\"dot.ted\"': {column: id}\n" +
			"  parts: {column: id, source: {kind: sequence, ensure_schema: true}}\n  computed: {column: id}\n  lines: {column: n, source: {kind: sequence, scope: [order_id], ensure_schema: true}}\n" +
			"  domained: {column: id}\n  numbered: {column: id, source: {kind: sequence, ensure_schema: true}}\n  arrays: {column: id}\n  later: {column: id}\n  partial: {column: id}\n  expressed: {column: id}\n" +
			"  unlogged: {column: id}\n  self: {column: id, source: {kind: native, sequence: numbers}}\n  dropped: {column: id}\n  ruled: {column: id}\n  secured: {column: id}\n  '\"Odd Schema\".\"T\"': {column: id}\n",
	},
	"sqlite": {
		[]string{
			`CREATE TABLE "select" ("from" INTEGER PRIMARY KEY, "where" INT)`,
			`CREATE TABLE "a""b" ("i""d" TEXT NOT NULL PRIMARY KEY)`,
			`CREATE TABLE [it's] (id TEXT NOT NULL PRIMARY KEY)`,
			"CREATE TABLE `two words` (`the key` TEXT NOT NULL PRIMARY KEY)",
			`CREATE TABLE "back\slash" (id INTEGER PRIMARY KEY)`,
			`CREATE TABLE größe (schlüssel TEXT NOT NULL PRIMARY KEY)`,
			`CREATE TABLE "注文" ("番号" INTEGER PRIMARY KEY)`,
			`CREATE TABLE MixedCase (Id TEXT NOT NULL PRIMARY KEY)`,
			`CREATE TABLE untyped (id NOT NULL PRIMARY KEY)`,
			`CREATE TABLE strictly (id TEXT NOT NULL PRIMARY KEY, a ANY) STRICT`,
			`CREATE TABLE bare (id TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID`,
			`CREATE TABLE computed (id TEXT NOT NULL PRIMARY KEY, a INT, b INT AS (a + 1), c INT AS (a * 2) STORED)`,
			`CREATE TABLE lines (order_id INT NOT NULL, n INT NOT NULL, PRIMARY KEY (order_id, n))`,
			`CREATE TABLE members (team_id INT, person_id INT, PRIMARY KEY (team_id, person_id))`,
			`CREATE TABLE descending (id INTEGER PRIMARY KEY DESC)`,
			`CREATE TABLE no_key (a INT, b INT)`,
			`CREATE TABLE self (id INTEGER PRIMARY KEY, parent INT REFERENCES self (id))`,
			`CREATE TABLE astray (id TEXT NOT NULL PRIMARY KEY, other INT REFERENCES nowhere (id))`,
			`CREATE TABLE partial (id TEXT NOT NULL, a INT)`, `CREATE UNIQUE INDEX p1 ON partial (id) WHERE a > 0`, `CREATE UNIQUE INDEX p2 ON partial (id)`, `CREATE INDEX p3 ON partial (lower(id), a + 1)`,
			`CREATE VIRTUAL TABLE searched USING fts5 (body)`,
			`CREATE VIEW shown AS SELECT id, a FROM computed`, `CREATE VIEW broken AS SELECT x FROM gone`,
			`CREATE TRIGGER audit AFTER INSERT ON computed BEGIN INSERT INTO no_key VALUES (NEW.a, 1); END`,
			`CREATE TRIGGER instead INSTEAD OF INSERT ON shown BEGIN SELECT 1; END`,
		},
		"  select: {column: from, source: {kind: sequence, ensure_schema: true}}\n" +
			"  '\"a\"\"b\"': {column: '\"i\"\"d\"'}\n  '\"it''s\"': {column: id}\n  '\"two words\"': {column: '\"the key\"'}\n  '\"back\\slash\"': {column: id, source: {kind: sequence, ensure_schema: true}}\n" +
			"  größe: {column: schlüssel}\n  注文: {column: 番号, source: {kind: sequence, ensure_schema: true}}\n  mixedcase: {column: id}\n  untyped: {column: id}\n  strictly: {column: id}\n  bare: {column: id}\n" +
			"  computed: {column: id}\n  lines: {column: n, source: {kind: sequence, scope: [order_id], ensure_schema: true}}\n  descending: {column: id, source: {kind: sequence, ensure_schema: true}}\n" +
			"  self: {column: id, source: {kind: sequence, ensure_schema: true}}\n  astray: {column: id}\n  partial: {column: id}\n",
	},
}

// TestOddShop: tables that are odd and right give neither an error nor a warning about a
// table that the policy names, and a policy that fits them fills them.
func TestOddShop(t *testing.T) {
	t.Parallel()
	harness.Each(t, checkEngines, func(t *testing.T, s *harness.Scratch) {
		shop := shops[s.Dialect.Name]
		executeAll(t, s, shop.schema...)
		found, _ := look(t, s, shop.policy)
		for _, f := range found {
			switch {
			case f.Severity == check.Error, f.Line > 0 && f.Severity == check.Warning:
				t.Errorf("%+v", f)
			default:
				t.Logf("%+v", f)
			}
		}
		listedIsRead(t, s)
	})
}
