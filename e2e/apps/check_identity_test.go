package apps_test

import (
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
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
