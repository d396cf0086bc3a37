package apps_test

import (
	"os"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

const adoptingPage = "docs/adopting.md"

// adoptingOrders are the tables of docs/adopting.md, by engine: the engine numbers orders,
// and keyfill alone fills invoices.
var adoptingOrders = map[string]string{
	"mariadb":  "id BIGINT AUTO_INCREMENT PRIMARY KEY",
	"postgres": "id bigserial PRIMARY KEY",
	"sqlite":   "id INTEGER PRIMARY KEY AUTOINCREMENT",
}

// adopting makes the shop of docs/adopting.md on an engine.
func adopting(t *testing.T, p *place, name string) {
	t.Helper()
	kind := "CHAR(36)"
	if name == "postgres" {
		kind = "uuid"
	}
	dsn := p.database(t, name, "SHOP_DSN", "CREATE TABLE orders ("+adoptingOrders[name]+", note TEXT, id_uuid "+kind+" UNIQUE);\n"+
		"INSERT INTO orders (note) VALUES ('a'), ('b'), ('c');\n"+
		"CREATE TABLE invoices (id BIGINT NOT NULL PRIMARY KEY, note TEXT);\n"+
		"CREATE TABLE customers ("+adoptingOrders[name]+", note TEXT);\n"+
		"CREATE TABLE visits ("+adoptingOrders[name]+", customer_id BIGINT, FOREIGN KEY (customer_id) REFERENCES customers (id));\n")
	// A process has filled the columns, so that there is something to hand back, and a
	// sequence to begin above.
	numbers := policy.Source{Kind: policy.KindSequence, EnsureSchema: true, Exclusive: true}
	db, _ := harness.OpenConnector(t, harness.ConnectorOf(t, engines[name].driver, dsn), &policy.Config{Tables: map[string]policy.Table{
		"orders":   {Column: "id", InPlace: &numbers},
		"invoices": {Column: "id", InPlace: &numbers},
	}})
	execute(t, db, "INSERT INTO orders (note) VALUES ('d');\n")
	execute(t, db, "INSERT INTO invoices (note) VALUES ('a');\n")
	p.policy(t, "  orders: {column: id_uuid, source: uuidv7}\n")
}

// TestAdoptingCommands: the commands of docs/adopting.md, which are written for MariaDB, do
// what the page says on PostgreSQL and SQLite, with the driver's name alone replaced.
func TestAdoptingCommands(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	for name := range adoptingOrders {
		if name == "mariadb" {
			continue // TestCommands runs them as they are
		}
		t.Run(name, func(t *testing.T) {
			p := &place{folder: t.TempDir(), env: os.Environ()}
			adopting(t, p, name)
			ran := 0
			for _, b := range blocks(t, "sh") {
				if b.page != adoptingPage {
					continue
				}
				s := script{t: t, block: b, place: p, folder: root, used: map[string]bool{}}
				for _, line := range lines(b.text) {
					s.run(strings.ReplaceAll(line, "--driver mysql", "--driver "+engines[name].driver))
				}
				ran += s.ran
			}
			if ran < 6 {
				t.Errorf("%d commands were run, want 6 or more", ran)
			}
			if n := harness.Count(t, harness.Open(t, engines[name].driver, p.dsn), "SELECT COUNT(*) FROM orders WHERE id_uuid IS NULL"); n != 0 {
				t.Errorf("backfill left %d rows without a key", n)
			}
		})
	}
}
