package apps_test

import (
	"bytes"
	"context"
	"database/sql"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlscript"
	"github.com/keyfill/keyfill/internal/testdb"
)

// program returns the path of a client of an engine, in its folder or in PATH. Without it
// the test is skipped, or fails as testdb says.
func program(t *testing.T, name string) string {
	t.Helper()
	folders, err := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(folders)
	if n := len(folders); n > 0 {
		return folders[n-1]
	}
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("KEYFILL_TEST_REQUIRE") == "1" {
		t.Fatal(err)
	} else if err != nil {
		t.Skip(err)
	}
	return path
}

// runClient runs a program and returns what it prints.
func runClient(t *testing.T, in, name string, args ...string) string {
	t.Helper()
	c := exec.Command(name, args...)
	c.Stdin = strings.NewReader(in)
	var errOut bytes.Buffer
	c.Stderr = &errOut
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", filepath.Base(name), err, errOut.String())
	}
	return string(out)
}

// splitScript returns the statements of a script.
func splitScript(t *testing.T, d *dialect.Dialect, script string) (all []string) {
	t.Helper()
	for one, err := range sqlscript.Statements(d, strings.NewReader(script)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one.Text)
	}
	return all
}

// TestDumpOfPostgreSQL: what pg_dump writes of a database with bodies of every kind is
// split into statements that make the same database, whose dump is the same but for rows.
func TestDumpOfPostgreSQL(t *testing.T) {
	t.Parallel()
	dump := program(t, "pg_dump")
	server := testdb.Start(t, testdb.PostgreSQL())
	one, two := server.Database(t, "pgx"), server.Database(t, "pgx")
	execute := func(name string, statements ...string) {
		conn, err := pgx.Connect(t.Context(), server.DSN(name))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close(context.Background())
		for _, text := range statements {
			if _, err := conn.Exec(t.Context(), text, pgx.QueryExecModeSimpleProtocol); err != nil {
				t.Fatalf("%s\n%v", text, err)
			}
		}
	}
	execute(one,
		`CREATE TABLE orders (id bigserial PRIMARY KEY, "no;te" text DEFAULT E'a\\;''b')`,
		`INSERT INTO orders ("no;te") VALUES ('it''s; a' || chr(10) || '\.' || chr(9) || 'note')`,
		"CREATE FUNCTION f() RETURNS trigger LANGUAGE plpgsql AS $body$ BEGIN INSERT INTO orders DEFAULT VALUES; RETURN NEW; END; $body$",
		"CREATE TRIGGER t AFTER UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION f()",
		"CREATE FUNCTION g(n int) RETURNS int BEGIN ATOMIC SELECT CASE WHEN n > 1 THEN 2 END; SELECT 3; END",
		"CREATE VIEW v AS SELECT * FROM orders",
		"CREATE RULE r AS ON INSERT TO v DO INSTEAD (INSERT INTO orders DEFAULT VALUES; UPDATE orders SET id = id)",
		"COMMENT ON TABLE orders IS 'a comment; of /* orders'",
	)
	script := runClient(t, "", dump, "--dbname", server.DSN(one))
	statements := splitScript(t, dialect.PostgreSQL(), script)
	copies := 0
	statements = slices.DeleteFunc(statements, func(text string) bool {
		isCopy := strings.HasPrefix(text, "COPY ")
		if isCopy {
			copies++
		}
		return isCopy
	})
	if copies != 1 || len(statements) < 20 {
		t.Fatalf("%d statements and %d COPY of\n%s", len(statements), copies, script)
	}
	execute(two, statements...)
	schema := func(name string) string {
		var kept []string
		for line := range strings.Lines(runClient(t, "", dump, "--schema-only", "--dbname", server.DSN(name))) {
			if !strings.HasPrefix(line, `\`) { // \restrict has a word of its own each time
				kept = append(kept, line)
			}
		}
		return strings.Join(kept, "")
	}
	if got, want := schema(two), schema(one); got != want {
		t.Errorf("the statements make\n%s\nwant\n%s", got, want)
	}
}

// clientScript is a script for the client of MySQL and MariaDB.
const clientScript = `-- a script; of everything
CREATE TABLE orders (id INT PRIMARY KEY AUTO_INCREMENT, note TEXT) /* ; */;
CREATE TABLE log (id INT PRIMARY KEY AUTO_INCREMENT, note TEXT);
DELIMITER //
CREATE TRIGGER t AFTER INSERT ON orders FOR EACH ROW
BEGIN
  IF NEW.note IS NOT NULL THEN
    INSERT INTO log (note) VALUES (CONCAT(NEW.note, ';//'));
  END IF;
END//
CREATE PROCEDURE p() BEGIN INSERT INTO orders (note) VALUES ('p;'); END //
delimiter ;
INSERT INTO orders (note) VALUES ('it''s; \'a\'; -- note'); # a comment; here
INSERT INTO orders (note) VALUES ("b;c") -- ;
;
/*!40101 INSERT INTO orders (note) VALUES ('d;') */;
CALL p();
INSERT INTO orders (note) VALUES ('e')\g
DELIMITER $$
INSERT INTO orders (note) VALUES ('f;$$')$$
INSERT INTO orders (note) VALUES ('g')
$$
`

// TestClientOfMariaDB: the client and the splitter find the same statements in a script:
// what they execute leaves the same rows and the same bodies.
func TestClientOfMariaDB(t *testing.T) {
	t.Parallel()
	client := program(t, "mariadb")
	server := testdb.Start(t, testdb.MariaDB())
	one, two := server.Database(t, "mysql"), server.Database(t, "mysql")
	open := func(name string) *sql.DB {
		db, err := sql.Open("mysql", server.DSN(name))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	address, err := url.Parse("mysql://" + strings.NewReplacer("tcp(", "", ")", "").Replace(server.DSN(one)))
	if err != nil {
		t.Fatal(err)
	}
	runClient(t, clientScript, client, "--no-defaults", "--protocol=tcp", "--host="+address.Hostname(), "--port="+address.Port(), "--user="+address.User.Username(), one)
	db := open(two)
	for _, text := range splitScript(t, dialect.MariaDB(), clientScript) {
		if _, err := db.Exec(text); err != nil {
			t.Fatalf("%s\n%v", text, err)
		}
	}
	contents := func(name string) (all []string) {
		db := open(name)
		for _, query := range []string{
			"SELECT CONCAT(id, ' ', note) FROM orders ORDER BY id", "SELECT CONCAT(id, ' ', note) FROM log ORDER BY id",
			"SELECT ACTION_STATEMENT FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = DATABASE()",
			"SELECT ROUTINE_DEFINITION FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()",
		} {
			rows, err := db.Query(query)
			if err != nil {
				t.Fatal(err)
			}
			for rows.Next() {
				var text string
				if err := rows.Scan(&text); err != nil {
					t.Fatal(err)
				}
				all = append(all, text)
			}
			if err := rows.Err(); err != nil {
				t.Fatal(err)
			}
		}
		return all
	}
	got, want := contents(two), contents(one)
	if !slices.Equal(got, want) || len(want) != 7+7+2 {
		t.Errorf("the statements leave\n%q, and those of the client\n%q", got, want)
	}
}
