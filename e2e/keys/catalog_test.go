package keys_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/catalog"
)

// catalogEngines are those whose answers differ by the driver's way to send a
// query.
var catalogEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.MySQLInterp, harness.PgxDefault, harness.PgxSimple, harness.PQDefault, harness.PQBinary}

// session is one connection of the raw driver.
type session struct {
	*harness.Scratch
	conn *sql.Conn
	sent []sent // by the last read
}

// sent is a query that was sent.
type sent struct {
	query string
	args  []any
}

// spyQuerier notes what is sent.
type spyQuerier struct {
	catalog.Querier
	s *session
}

func (q spyQuerier) Rows(ctx context.Context, query string, args ...any) ([][]any, error) {
	q.s.sent = append(q.s.sent, sent{query, args})
	return q.Querier.Rows(ctx, query, args...)
}

func newSession(t *testing.T, s *harness.Scratch) *session {
	t.Helper()
	c, err := s.Raw.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &session{Scratch: s, conn: c}
}

// exec runs statements on the session.
func (s *session) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, q := range statements {
		if _, err := s.conn.ExecContext(context.Background(), q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
}

// read reads a table through the driver's own connection.
func (s *session) read(schema, table string) (read *catalog.Table, err error) {
	s.sent = nil
	rawErr := s.conn.Raw(func(c any) error {
		q := spyQuerier{catalog.Conn(c.(driver.Conn)), s}
		read, err = catalog.Read(context.Background(), s.Dialect, q, schema, table)
		return nil
	})
	if len(s.sent) > 3 {
		rawErr = fmt.Errorf("%d queries, want at most 3", len(s.sent))
	}
	return read, errors.Join(err, rawErr)
}

// checkTables compares what is read of tables with what is wanted, in the
// words of describeTable.
func (s *session) checkTables(t *testing.T, want map[string]string) {
	t.Helper()
	for table, want := range want {
		got, err := s.read("", table)
		if err != nil {
			t.Errorf("%s: %v", table, err)
			continue
		}
		if text := describeTable(got); text != want {
			t.Errorf("%s:\n%s\nwant\n%s", table, text, want)
		}
	}
	s.checkListed(t)
}

// checkListed compares what is read about each table with what the list of all tables says
// about it, and with what is read where no transaction is open.
func (s *session) checkListed(t *testing.T) {
	t.Helper()
	err := s.conn.Raw(func(c any) error {
		q := catalog.Conn(c.(driver.Conn))
		all, err := catalog.List(t.Context(), s.Dialect, q, nil)
		if err != nil {
			return err
		}
		for _, listed := range all.Tables {
			if !listed.Visible {
				continue
			}
			read, err := catalog.Read(t.Context(), s.Dialect, q, "", s.Dialect.FoldTable(listed.Name, true))
			if err != nil {
				t.Errorf("%s: %v", listed.Name, err)
				continue
			}
			outside, err := catalog.ReadOutside(t.Context(), s.Dialect, q, "", s.Dialect.FoldTable(listed.Name, true))
			if err != nil || !reflect.DeepEqual(outside, read) {
				t.Errorf("%s: outside of a transaction %+v, %v\nwant %+v", listed.Name, outside, err, read)
			}
			want := *listed.Table
			if s.Dialect.Family == dialect.FamilyMySQL { // a list does not ask for rights
				want.InsertTriggers, want.KeyTriggers = read.InsertTriggers, read.KeyTriggers
			}
			if !reflect.DeepEqual(read, &want) {
				t.Errorf("%s is read as\n%+v\nand listed as\n%+v", listed.Name, read, &want)
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

// describeTable writes a table as a few lines, without the schema and without
// collations.
func describeTable(t *catalog.Table) string {
	kind := "table"
	if t.View {
		kind = "view"
	}
	lines := []string{fmt.Sprintf("%s %s, triggers %s", kind, t.Name, t.InsertTriggers)}
	for _, c := range t.Columns {
		line := c.Name + " " + c.Type + ":"
		add := func(is bool, text string) {
			if is {
				line += " " + text
			}
		}
		add(c.Integer, fmt.Sprintf("integer %d", c.Bits))
		add(c.Text, fmt.Sprintf("text %d", c.Length))
		add(c.Binary, fmt.Sprintf("binary %d", c.Length))
		add(c.UUID, "uuid")
		add(c.Generated, "generated")
		add(c.Identity != "", c.Identity)
		add(c.IdentityAlways, "always")
		add(c.RowID, "rowid")
		add(c.Indexes.LeadsIndex, "led")
		add(c.Indexes.Unique != nil, strings.Join(c.Indexes.Unique, ","))
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}

// lines joins the lines of a description.
func lines(all ...string) string { return strings.Join(all, "\n") }

// TestCatalogMissing: a table that is not there is an error that says so, and
// none of the engine: a transaction goes on.
//
//deviation:integer-keys | An INSERT into a table that is not there is an error of keyfill, not the engine's. | all | `CREATE TABLE` after an error 1146 | –
func TestCatalogMissing(t *testing.T) {
	t.Parallel()
	harness.Each(t, catalogEngines, func(t *testing.T, s *harness.Scratch) {
		c := newSession(t, s)
		c.exec(t, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)", "BEGIN")
		for _, name := range [][2]string{{"", "missing"}, {"missing", "orders"}, {"", "a.b"}, {"", `odd"'name`}, {"a b", "`"}, {"", ""}} {
			_, err := c.read(name[0], name[1])
			var detailed *catalog.Error
			if !errors.Is(err, catalog.ErrNoTable) || !errors.As(err, &detailed) {
				t.Errorf("%q: %v, want ErrNoTable", name, err)
			}
		}
		if _, err := c.read("", "orders"); err != nil {
			t.Error(err)
		}
		c.exec(t, "INSERT INTO orders VALUES (1)", "COMMIT")
	})
}

// TestCatalogPool: what is read through a *sql.DB is what is read on a
// connection.
func TestCatalogPool(t *testing.T) {
	t.Parallel()
	harness.Each(t, catalogEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY, name VARCHAR(20))")
		want, err := newSession(t, s).read("", "orders")
		if err != nil {
			t.Fatal(err)
		}
		got, err := catalog.Read(context.Background(), s.Dialect, catalog.DB(s.Raw), "", "orders")
		if err != nil {
			t.Fatal(err)
		}
		if describeTable(got) != describeTable(want) || got.Schema != want.Schema {
			t.Errorf("%s\nwant\n%s", describeTable(got), describeTable(want))
		}
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if _, err := catalog.Read(ctx, s.Dialect, catalog.DB(s.Raw), "", "orders"); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	})
}

// TestCatalogQuoted: names with everything in them that a name can hold.
func TestCatalogQuoted(t *testing.T) {
	t.Parallel()
	const table, column = `Odd "na'me` + "` [x] $1 ? größe", `Ke"y %s`
	harness.Each(t, catalogEngines, func(t *testing.T, s *harness.Scratch) {
		c := newSession(t, s)
		quote, fold := s.Dialect.QuoteIdent, s.Dialect.Fold
		c.exec(t, fmt.Sprintf("CREATE TABLE %s (%s BIGINT NOT NULL PRIMARY KEY)", quote(table), quote(column)))
		read, err := c.read("", fold(table, true))
		if err != nil {
			t.Fatal(err)
		}
		col := read.Column(s.Dialect, fold(column, true))
		if read.Name != table || col == nil || col.Name != column || !col.Indexes.LeadsIndex || len(col.Indexes.Unique) != 1 {
			t.Errorf("%+v", read)
		}
	})
}
