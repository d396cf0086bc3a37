package keys_test

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
)

func TestCatalogMariaDB(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.MySQLEngines, func(t *testing.T, s *harness.Scratch) {
		c := newSession(t, s)
		c.exec(t,
			`CREATE TABLE integers (
				id INT UNSIGNED AUTO_INCREMENT PRIMARY KEY,
				t TINYINT, tu TINYINT UNSIGNED, s SMALLINT, su SMALLINT UNSIGNED, m MEDIUMINT, mu MEDIUMINT UNSIGNED,
				i INT, b BIGINT, bu BIGINT(20) UNSIGNED ZEROFILL, d10 DECIMAL(10,0), d19 DECIMAL(19), d2 DECIMAL(10,2),
				f FLOAT, r DOUBLE, g INT AS (i + 1) VIRTUAL, p INT AS (i + 2) PERSISTENT, o BOOLEAN,
				UNIQUE KEY by_t (t, s), KEY by_s (s), UNIQUE KEY by_i (i), UNIQUE KEY again (i), KEY later (m, b))`,
			`CREATE TABLE texts (
				id CHAR(36) COLLATE ascii_bin PRIMARY KEY, v VARCHAR(20) UNIQUE, x TEXT, b BINARY(16), vb VARBINARY(8),
				l BLOB, u UUID, e ENUM('a'), dt DATETIME, UNIQUE KEY prefix (x(5)), FULLTEXT KEY words (v))`,
			`CREATE SEQUENCE numbers`,
			`CREATE TABLE defaults (id BIGINT DEFAULT NEXTVAL(numbers) PRIMARY KEY, u UUID DEFAULT UUID(), n INT DEFAULT 7)`,
			`CREATE TABLE versions (id BIGINT PRIMARY KEY) WITH SYSTEM VERSIONING`,
			`CREATE TABLE hashed (id BIGINT, UNIQUE KEY h (id) USING HASH) ENGINE=MEMORY`,
			`CREATE VIEW shown AS SELECT id, i FROM integers`,
			`CREATE TEMPORARY TABLE temporary (id INT PRIMARY KEY)`,
			`CREATE TEMPORARY TABLE versions (other INT PRIMARY KEY)`)
		c.checkTables(t, map[string]string{
			"integers": lines(
				"table integers, triggers no",
				"id int(10) unsigned: integer 32 AUTO_INCREMENT led PRIMARY",
				"t tinyint(4): integer 7 led by_t",
				"tu tinyint(3) unsigned: integer 8",
				"s smallint(6): integer 15 led",
				"su smallint(5) unsigned: integer 16",
				"m mediumint(9): integer 23 led",
				"mu mediumint(8) unsigned: integer 24",
				"i int(11): integer 31 led again,by_i",
				"b bigint(20): integer 63",
				"bu bigint(20) unsigned zerofill: integer 64",
				"d10 decimal(10,0): integer 33",
				"d19 decimal(19,0): integer 63",
				"d2 decimal(10,2):",
				"f float:",
				"r double:",
				"g int(11): integer 31 generated",
				"p int(11): integer 31 generated",
				"o tinyint(1): integer 7"),
			"texts": lines(
				"table texts, triggers no",
				"id char(36): text 36 led PRIMARY",
				"v varchar(20): text 20 led v",
				"x text: text 0 prefix",
				"b binary(16): binary 16",
				"vb varbinary(8): binary 8",
				"l blob: binary 0",
				"u uuid: uuid",
				"e enum('a'):",
				"dt datetime:"),
			"defaults": lines(
				"table defaults, triggers no",
				"id bigint(20): integer 63 nextval default led PRIMARY",
				"u uuid: uuid",
				"n int(11): integer 31"),
			// The table of the same name that is temporary is not shown.
			"versions": lines("table versions, triggers no", "id bigint(20): integer 63 led PRIMARY"),
			"hashed":   lines("table hashed, triggers no", "id bigint(20): integer 63 h"),
			"shown":    lines("view shown, triggers no", "id int(10) unsigned: integer 32", "i int(11): integer 31"),
		})
		for _, name := range []string{"temporary", "numbers"} {
			if _, err := c.read("", name); !errors.Is(err, catalog.ErrNoTable) {
				t.Errorf("%s: %v, want ErrNoTable", name, err)
			}
		}
		texts, err := c.read("", "texts")
		if err != nil || texts.Columns[0].Collation != "ascii_bin" {
			t.Errorf("%+v, %v", texts, err)
		}
	})
}

// TestCatalogMariaDBCase: the server distinguishes tables by case, and a folded name does
// not.
func TestCatalogMariaDBCase(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	if harness.Count(t, s.Raw, "SELECT @@lower_case_table_names") != 0 {
		harness.Skip(t, "the server folds names")
	}
	c := newSession(t, s)
	name, other := testName(t, s), testName(t, s)
	upper := "KF" + strings.ToUpper(other[1:])
	c.exec(t, "CREATE DATABASE "+upper)
	t.Cleanup(func() { harness.Exec(t, s.Raw, "DROP DATABASE "+upper) })
	c.exec(t, "CREATE TABLE Orders (id INT PRIMARY KEY)",
		"CREATE TABLE `lines` (lower INT)", "CREATE TABLE `Lines` (upper INT)",
		"CREATE TABLE Twice (a INT)", "CREATE TABLE TWICE (b INT)",
		"CREATE TABLE Größe (a INT)", "CREATE TABLE Grosse (a INT)",
		"CREATE TABLE "+upper+".Orders (other INT)")
	for _, want := range []struct{ schema, table, as, in, column string }{
		{"", "orders", "Orders", name, "id"},
		{name, "orders", "Orders", name, "id"},
		{strings.ToLower(upper), "orders", "Orders", upper, "other"},
		{"", "lines", "lines", name, "lower"},
		{"", "größe", "Größe", name, "a"},
	} {
		got, err := c.read(want.schema, want.table)
		if err != nil || got.Schema != want.in || got.Name != want.as || got.Columns[0].Name != want.column {
			t.Errorf("%+v: %+v, %v", want, got, err)
		}
	}
	if _, err := c.read("", "twice"); !errors.Is(err, catalog.ErrAmbiguous) {
		t.Errorf("twice: %v, want ErrAmbiguous", err)
	}
}

// TestCatalogMariaDBScans: no query reads more than one table's files, or the
// names of one database, where the schema is not one of another spelling.
func TestCatalogMariaDBScans(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	c := newSession(t, s)
	name := testName(t, s)
	c.exec(t, "CREATE TABLE Orders (id INT PRIMARY KEY)", "CREATE TABLE plain (id INT PRIMARY KEY)")
	for _, at := range []struct {
		schema, table string
		folders       string // that are read besides
	}{{"", "plain", ""}, {name, "plain", ""}, {"", "orders", "Scanned 1 database"}} {
		if _, err := c.read(at.schema, at.table); err != nil {
			t.Fatal(err)
		}
		seen := 0
		for _, one := range c.sent {
			rows, err := catalog.DB(s.Raw).Rows(t.Context(), "EXPLAIN "+one.query, one.args...)
			if err != nil {
				t.Fatal(err)
			}
			for _, row := range rows {
				extra := fmt.Sprintf("%s", row[len(row)-1])
				if !strings.Contains(extra, "Scanned") {
					continue // privileges, which are in memory
				}
				seen++
				if !strings.Contains(extra, "Scanned 0 databases") && (at.folders == "" || !strings.Contains(extra, at.folders)) {
					t.Errorf("%+v: %s: %s", at, extra, one.query)
				}
			}
		}
		if seen < 3 {
			t.Errorf("%+v: %d tables of information_schema are explained, want columns, statistics and triggers", at, seen)
		}
	}
}

// testName returns the name of the scratch's database.
func testName(t *testing.T, s *harness.Scratch) string {
	t.Helper()
	var name string
	if err := s.Raw.QueryRow("SELECT DATABASE()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	return name
}

// TestCatalogMariaDBTriggers: a user without the TRIGGER privilege need not be
// shown triggers, and so does not know that there are none. MariaDB 10.11.19
// does show them to every user of the table, without their text.
func TestCatalogMariaDBTriggers(t *testing.T) {
	t.Parallel()
	s := harness.MySQLDefault.Scratch(t)
	admin := newSession(t, s)
	database := testName(t, s)
	admin.exec(t, "CREATE TABLE orders (id BIGINT PRIMARY KEY)", "CREATE TABLE free (id BIGINT PRIMARY KEY)",
		"CREATE TABLE updated (id BIGINT PRIMARY KEY)",
		"CREATE TRIGGER numbered BEFORE INSERT ON orders FOR EACH ROW SET NEW.id = NEW.id + 1",
		"CREATE TRIGGER changed BEFORE UPDATE ON updated FOR EACH ROW SET NEW.id = NEW.id + 1")
	pattern := strings.ReplaceAll(database, "_", `\_`)
	for i, c := range []struct {
		grants                []string
		orders, free, updated catalog.Answer
	}{
		{nil, catalog.Yes, catalog.Unknown, catalog.Unknown},
		{[]string{"TRIGGER ON *.*"}, catalog.Yes, catalog.No, catalog.No},
		{[]string{"TRIGGER ON `" + pattern + "`.*"}, catalog.Yes, catalog.No, catalog.No},
		{[]string{"TRIGGER ON `%`.*"}, catalog.Yes, catalog.No, catalog.No},
		{[]string{"TRIGGER ON `" + database + "`.free", "TRIGGER ON `" + database + "`.orders"}, catalog.Yes, catalog.No, catalog.Unknown},
	} {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			// The @ in the name is not the one before the host.
			user := fmt.Sprintf("`u%d@%s`@`127.0.0.1`", i, database[len(database)-4:])
			admin.exec(t, "CREATE USER "+user+" IDENTIFIED BY 'secret'",
				"GRANT SELECT, INSERT ON `"+database+"`.* TO "+user)
			t.Cleanup(func() { harness.Exec(t, s.Raw, "DROP USER "+user) })
			for _, grant := range c.grants {
				admin.exec(t, "GRANT "+grant+" TO "+user)
			}
			name, _, _ := strings.Cut(strings.TrimPrefix(user, "`"), "`")
			address := s.Server.Addr()
			own := *s
			own.Connector = harness.ConnectorOf(t, "mysql", fmt.Sprintf("%s:secret@tcp(%s)/%s", name, address, url.PathEscape(database)))
			own.Raw = sql.OpenDB(own.Connector)
			t.Cleanup(func() { own.Raw.Close() })
			us := newSession(t, &own)
			for table, want := range map[string]catalog.Answer{"orders": c.orders, "free": c.free, "updated": c.updated} {
				got, err := us.read("", table)
				if err == nil && c.grants == nil && got.InsertTriggers == catalog.Unknown {
					continue // an older server
				}
				if err != nil || got.InsertTriggers != want {
					t.Errorf("%s: %+v, %v; want %s", table, got, err, want)
				}
			}
		})
	}
}
