package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/publicid"
)

// anOrder is the type of ids of another table.
type anOrder struct{}

func (anOrder) Prefix() string { return "ord" }

// prefixed is a table whose keys have a prefix.
func prefixed(prefix string) policy.Table {
	return policy.Table{Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv7, Prefix: prefix}}
}

// TestPrefix: keys with a prefix are stored as their text and read as the ids that Record
// told; an id that the caller brings is kept, and the zero id is none.
func TestPrefix(t *testing.T) {
	t.Parallel()
	engines := []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault, harness.PQBinary}
	harness.Each(t, engines, func(t *testing.T, s *harness.Scratch) {
		harness.Must(t, s.Raw, "CREATE TABLE customers (id VARCHAR(30) NOT NULL PRIMARY KEY, a INT UNIQUE)",
			"CREATE TABLE orders (id VARCHAR(40) NOT NULL PRIMARY KEY, ref CHAR(36) NOT NULL, customer_id VARCHAR(30) NOT NULL REFERENCES customers (id))")
		db, mount := s.Open(t, &policy.Config{Tables: map[string]policy.Table{
			"customers": prefixed("cus"),
			"orders": {Keys: []policy.Key{
				{Column: "id", InPlace: &policy.Source{Kind: policy.KindUUIDv7, Prefix: "ord"}},
				{Column: "ref", InPlace: &policy.Source{Kind: policy.KindUUIDv7, Prefix: "ref"}, Layout: dialect.SequentialAsString},
			}},
		}})
		ctx, rec := keyfill.Record(context.Background())
		insert := func(query string, args ...any) sql.Result {
			t.Helper()
			r, err := db.ExecContext(ctx, s.Placeholders(query), args...)
			if err != nil {
				t.Fatalf("%s: %v", query, err)
			}
			return r
		}
		zeros := strings.Repeat("0", 26)
		insert("INSERT INTO customers (a) VALUES (?)", 1)
		insert("INSERT INTO customers (id, a) VALUES (?, ?), (?, ?), (?, ?), (?, ?)", publicid.ID[inText]{}, 2, nil, 3, "ord_"+zeros, 4, "", 5)
		insert("INSERT INTO customers (id, a) VALUES ('cus_" + zeros + "', 6), (CAST('cus_" + zeros + "' AS CHAR(30)), 7), (NULL, 8)")
		insert("INSERT INTO customers (a) SELECT a + 100 FROM customers")
		told := rec.Keys("customers")
		if len(told) != 8 {
			t.Errorf("%d keys are recorded, want 8", len(told))
		}
		brought, err := publicid.Parse[inText]("cus_01h455vb4pex5vsknk084sn02q")
		if err != nil {
			t.Fatal(err)
		}
		insert("INSERT INTO customers (id, a) VALUES (?, ?)", brought, 0)
		rows, err := s.Raw.Query("SELECT id, a FROM customers WHERE a > 0 ORDER BY id")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var order []int
		for rows.Next() {
			var id publicid.ID[inText]
			var a int
			if err := rows.Scan(&id, &a); err != nil {
				t.Fatal(err)
			}
			if id.UUID().Version() != 7 || a <= len(told) && told[a-1].Key != id.String() {
				t.Errorf("row %d has the key %v", a, id)
			}
			order = append(order, a)
		}
		if err := rows.Err(); err != nil || len(order) != 16 || !slices.IsSorted(order[:8]) || slices.Min(order[8:]) < 100 {
			t.Errorf("in the order of their keys the rows are %v, error %v", order, err)
		}
		if n := harness.Count(t, s.Raw, s.Placeholders("SELECT COUNT(*) FROM customers WHERE id = ? AND a = 0"), brought); n != 1 {
			t.Errorf("%d rows have the key that was brought, want 1", n)
		}

		// A child brings its parent's key, and has two keys of its own.
		parent, ok := keyfill.Last[publicid.ID[inText]](rec, "customers")
		insert("INSERT INTO orders (customer_id) VALUES (?)", parent)
		child, isOrder := keyfill.Last[publicid.ID[anOrder]](rec, "orders")
		_, isCustomer := keyfill.Last[publicid.ID[inText]](rec, "orders")
		keys := rec.Keys("orders")
		var id publicid.ID[anOrder]
		var ref publicid.ID[inUUID]
		if err := s.Raw.QueryRow("SELECT id, ref FROM orders").Scan(&id, &ref); err != nil || !ok || !isOrder || isCustomer || id != child || len(keys) != 2 || keys[1].Key != ref.UUID() {
			t.Errorf("the child has the keys %v and %v, error %v; told are %v", id, ref, err, keys)
		}

		// Keys gives what an INSERT brings.
		given, err := mount.Keys(ctx, "customers", 2)
		if err != nil || len(given) != 2 || !strings.HasPrefix(given[0].(string), "cus_") || given[0].(string) >= given[1].(string) {
			t.Fatalf("Keys gives %v, %v", given, err)
		}
		insert("INSERT INTO customers (id, a) VALUES (?, ?)", given[0], -1)
		if _, err := mount.Reserve(ctx, "customers", 1); !errors.Is(err, keyfill.ErrNoNumbers) {
			t.Errorf("Reserve: %v, want ErrNoNumbers", err)
		}

		// An upsert that meets a row leaves its key.
		upsert := "INSERT INTO customers (a) VALUES (?) ON CONFLICT (a) DO UPDATE SET a = excluded.a"
		if s.Dialect.Family == dialect.FamilyMySQL {
			upsert = "INSERT INTO customers (a) VALUES (?) ON DUPLICATE KEY UPDATE a = VALUES(a)"
		}
		insert(upsert, 1)
		if n := harness.Count(t, s.Raw, s.Placeholders("SELECT COUNT(*) FROM customers WHERE id = ? AND a = 1"), told[0].Key); n != 1 {
			t.Errorf("after the upsert %d rows have the first key, want 1", n)
		}
	})
}

// TestPrefixRefused: a column that cannot hold the keys is refused before anything is sent,
// although the engine might cut them.
func TestPrefixRefused(t *testing.T) {
	t.Parallel()
	const long = "customers" // with the other characters it is as long as a UUID
	harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		bytes := harness.ColumnTypes("bytea", "BINARY(16)", "BLOB")[s.Dialect.Name]
		for _, c := range []struct{ column, prefix, want string }{
			{"VARCHAR(29)", "cus", "is too short for keys of 30 characters: make it longer"},
			{"CHAR(35)", long, "is too short for keys of 36 characters: make it longer"},
			{"UUID", long, "takes UUIDs, and the keys have a prefix: say layout: string"},
			{bytes, "cus", "takes bytes, and the keys are text: say layout: binary"},
			{"BIGINT", "cus", "takes integers"},
			{"CHAR(31)", "cus", "fills keys of 30 characters up with spaces"},
		} {
			if strings.HasPrefix(c.column, "CHAR(31") && !s.Dialect.PadsText {
				continue
			}
			harness.Must(t, s.Raw, "DROP TABLE IF EXISTS narrow", "CREATE TABLE narrow (id "+c.column+" PRIMARY KEY, a INT)")
			db, _ := s.Open(t, &policy.Config{Tables: map[string]policy.Table{"narrow": prefixed(c.prefix)}})
			for _, query := range []string{"INSERT INTO narrow (a) VALUES (1)", "INSERT INTO narrow (a) SELECT 1 WHERE 1 = 1"} {
				_, err := db.Exec(query)
				var refused *keyfill.Error
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
					t.Errorf("%s, prefix %s: %s: %v, want an error with %q", c.column, c.prefix, query, err, c.want)
				}
			}
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM narrow"); n != 0 {
				t.Errorf("%s: %d rows are stored", c.column, n)
			}
		}
	})
}
