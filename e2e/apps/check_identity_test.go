package apps_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/check"
)

// TestIdentityFilled: nothing is said of a column that the engine fills in a way of its own,
// the default of a domain and a rule among them.
func TestIdentityFilled(t *testing.T) {
	t.Parallel()
	const policy = "  orders: {column: id, source: identity}\n"
	schemas := map[string][][]string{
		"postgres": {
			{"CREATE SEQUENCE numbers", "CREATE DOMAIN number AS bigint DEFAULT nextval('numbers')", "CREATE TABLE orders (id number PRIMARY KEY, a INT)"},
			{"CREATE TABLE base (id bigserial PRIMARY KEY, a INT)", "CREATE TABLE orders (id bigint PRIMARY KEY, a INT)",
				"CREATE RULE aside AS ON INSERT TO orders DO INSTEAD INSERT INTO base (a) VALUES (NEW.a)"},
		},
		"mariadb": {
			{"CREATE TABLE orders (id CHAR(36) NOT NULL PRIMARY KEY, a INT)", "CREATE TRIGGER makes BEFORE INSERT ON orders FOR EACH ROW SET NEW.id = UUID()"},
		},
	}
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault}, func(t *testing.T, s *harness.Scratch) {
		for _, schema := range schemas[s.Dialect.Name] {
			s := s.Engine.Scratch(t)
			executeAll(t, s, schema...)
			harness.Must(t, s.Raw, "INSERT INTO orders (a) VALUES (1)")
			found, _ := look(t, s, policy)
			if got := ruled(found, "no-default"); len(got) > 0 {
				t.Errorf("%s: %+v", schema, got)
			}
		}
	})
}

// TestIdentityHidden: MySQL shows a trigger to users with the right TRIGGER alone, so
// that for others the catalog does not show whether one fills the column. MariaDB, which
// runs here instead, shows it to all users of the table.
func TestIdentityHidden(t *testing.T) {
	t.Parallel()
	const policy = "  orders: {column: id, source: identity}\n"
	s := harness.MySQLDefault.Scratch(t)
	executeAll(t, s, "CREATE TABLE orders (id CHAR(36) NOT NULL PRIMARY KEY, a INT)")
	for _, c := range []struct{ right, dialect, class string }{
		{"SELECT, INSERT ON orders", "mysql", check.Unknown},
		{"SELECT, INSERT, TRIGGER ON orders", "mysql", check.FirstInsert},
		{"SELECT, INSERT ON orders", "mariadb", check.FirstInsert},
	} {
		u := newUser(t, s, c.right)
		found, _ := lookWith(t, s, policy+"dialect: "+c.dialect+"\n", u.at)
		got := ruled(found, "no-default")
		if len(got) != 1 || got[0].Class != c.class || (c.class == check.Unknown) != strings.Contains(got[0].Message, "TRIGGER") {
			t.Errorf("%s, %s: %+v, want class %q", c.right, c.dialect, found, c.class)
		}
	}
	executeAll(t, s, "CREATE TRIGGER makes BEFORE INSERT ON orders FOR EACH ROW SET NEW.id = UUID()")
	u := newUser(t, s, "SELECT, INSERT ON orders")
	if found, _ := lookWith(t, s, policy, u.at); len(ruled(found, "no-default")) > 0 {
		t.Errorf("with a trigger: %+v", found)
	}
}
