package statements_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/hex"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/faketds"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestTrapNoExec shows why our connection answers for drivers that cannot execute
// directly: go-mssqldb's connection has neither Exec, and sqlmw takes for
// granted that there is one.
func TestTrapNoExec(t *testing.T) {
	t.Parallel()
	conn := reflect.TypeFor[*mssql.Conn]()
	for _, i := range []reflect.Type{reflect.TypeFor[driver.ExecerContext](), reflect.TypeFor[driver.Execer]()} {
		if conn.Implements(i) {
			t.Errorf("%v is a %v: this is no trap any more", conn, i)
		}
	}
}

// TestSQLServerOnTheWire captures what go-mssqldb sends for filled INSERTs.
func TestSQLServerOnTheWire(t *testing.T) {
	t.Parallel()
	rand := new(harness.Entropy)
	cfg := harness.FillID("people", policy.Table{Source: "uuidv4"})
	db, s := harness.SQLServerWith(t, keyfill.Options{Policy: cfg, Rand: rand})
	const bound = "INSERT INTO people (name, n, [id]) VALUES (@p1, @p2, @p3)"
	const types = "@p1 nvarchar(1),@p2 bigint,@p3 nvarchar(36)"
	check := func(t *testing.T, calls []faketds.Call, n int, rec *keyfill.Recorder) {
		t.Helper()
		keys := rec.Keys("people")
		if len(calls) != n || len(keys) != n {
			t.Fatalf("%d calls and %d keys, want %d: %+v", len(calls), len(keys), n, calls)
		}
		for i, c := range calls {
			want := []faketds.Param{{Name: "@p1", Value: "a"}, {Name: "@p2", Value: int64(7)}, {Name: "@p3", Value: keys[i].Key.(uuid.UUID).String()}}
			if c.Query != bound || c.Types != types || !slices.Equal(c.Params, want) {
				t.Errorf("sent %+v, want %q of %q with %v", c, bound, types, want)
			}
		}
	}

	t.Run("exec", func(t *testing.T) {
		ctx, rec := keyfill.Record(context.Background())
		n := harness.Drawn(rand, func() {
			res, err := db.ExecContext(ctx, "INSERT INTO people (name, n) VALUES (@p1, @p2)", "a", 7)
			if err != nil {
				t.Fatal(err)
			}
			if n, err := res.RowsAffected(); n != 1 || err != nil {
				t.Errorf("%d rows affected, error %v", n, err)
			}
		})
		if n != 1 {
			t.Errorf("%d keys are drawn, want 1", n)
		}
		check(t, s.Take(), 1, rec)
		if _, ok := keyfill.Last[uuid.UUID](rec, "people"); !ok {
			t.Error("the key is not recorded as stored")
		}
	})
	t.Run("prepared", func(t *testing.T) {
		ctx, rec := keyfill.Record(context.Background())
		stmt, err := db.PrepareContext(ctx, "INSERT INTO people (name, n) VALUES (@p1, @p2)")
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		for range 3 {
			if _, err := stmt.ExecContext(ctx, "a", 7); err != nil {
				t.Fatal(err)
			}
		}
		check(t, s.Take(), 3, rec)
	})
	t.Run("no argument", func(t *testing.T) {
		ctx, rec := keyfill.Record(context.Background())
		if _, err := db.ExecContext(ctx, "INSERT INTO people (name) VALUES ('a')"); err != nil {
			t.Fatal(err)
		}
		id, _ := keyfill.Last[uuid.UUID](rec, "people")
		want := "INSERT INTO people (name, [id]) VALUES ('a', '" + id.String() + "')"
		if calls := s.Take(); len(calls) != 1 || calls[0].Batch != want {
			t.Errorf("sent %+v, want the batch %q", calls, want)
		}
	})
	t.Run("named", func(t *testing.T) {
		if _, err := db.Exec("INSERT INTO people (name, id) VALUES (@name, @id)", sql.Named("name", "a"), sql.Named("id", nil)); err != nil {
			t.Fatal(err)
		}
		calls := s.Take()
		if len(calls) != 1 || len(calls[0].Params) != 2 || calls[0].Params[0] != (faketds.Param{Name: "@name", Value: "a"}) ||
			calls[0].Params[1].Name != "@id" || !harness.IsKey(calls[0].Params[1].Value.(string)) {
			t.Errorf("sent %+v", calls)
		}
	})
	t.Run("refused", func(t *testing.T) {
		_, err := db.Exec("SET NOEXEC ON; INSERT INTO people (name) VALUES ('a')")
		if !errors.Is(err, rewrite.ErrSeveral) {
			t.Errorf("error %v, want %v", err, rewrite.ErrSeveral)
		}
		if calls := s.Take(); len(calls) != 0 {
			t.Errorf("sent %+v", calls)
		}
	})
}

// TestSQLServerBinary: 16 bytes go out as varbinary and as they are, for a column
// BINARY(16).
func TestSQLServerBinary(t *testing.T) {
	t.Parallel()
	db, s := harness.SQLServer(t, harness.FillID("people", policy.Table{Layout: dialect.SequentialAsBinary}))
	ctx, rec := keyfill.Record(context.Background())
	if _, err := db.ExecContext(ctx, "INSERT INTO people (name) VALUES (@p1)", "a"); err != nil {
		t.Fatal(err)
	}
	id, _ := keyfill.Last[uuid.UUID](rec, "people")
	calls := s.Take()
	if len(calls) != 1 || calls[0].Types != "@p1 nvarchar(1),@p2 varbinary(16)" {
		t.Fatalf("sent %+v", calls)
	}
	if key, ok := calls[0].Params[1].Value.([]byte); !ok || !bytes.Equal(key, id[:]) {
		t.Errorf("sent % x, want % x", key, id[:])
	}
}

// TestSQLServerOrder sends keys of uuidv7 in the order in which SQL Server
// compares what it stores for them.
func TestSQLServerOrder(t *testing.T) {
	t.Parallel()
	db, s := harness.SQLServer(t, harness.FillID("people", policy.Table{}))
	const rows = 50
	for range 4 {
		harness.Exec(t, db, "INSERT INTO people (name) VALUES ('a')"+strings.Repeat(", ('a')", rows-1)+" OPTION (RECOMPILE)")
	}
	var last []byte
	for _, c := range s.Take() {
		n := 0
		for key := range strings.SplitSeq(c.Batch, "'") {
			if !harness.IsKey(key) {
				continue
			}
			n++
			k := compared(t, key)
			if bytes.Compare(last, k) >= 0 {
				t.Fatalf("key %s is not behind the one before", key)
			}
			last = k
		}
		if n != rows {
			t.Errorf("%d keys in a batch, want %d", n, rows)
		}
	}
}

// compared returns those bytes in the order in which SQL Server compares them.
func compared(t *testing.T, text string) []byte {
	t.Helper()
	s := harness.StoredBytes(t, text)
	return slices.Concat(s[10:16], s[8:10], s[6:8], s[4:6], s[0:4])
}

// TestSQLServerVectors compares what the driver makes of our keys with vectors
// worked out from the .NET generator and the server's manual. The instant is
// 2012-06-02T00:11:11.814Z, the random bytes are 4ed540122e27653a9d13.
func TestSQLServerVectors(t *testing.T) {
	t.Parallel()
	random, _ := hex.DecodeString("4ed540122e27653a9d13")
	comb := keyfill.Options{
		Policy: harness.FillID("people", policy.Table{Source: "comb", Layout: dialect.SequentialAtEnd}),
		Now:    func() time.Time { return time.UnixMilli(1338595871814) },
		Rand:   bytes.NewReader(random),
	}
	comb.Policy.Dialect = "sqlserver"
	_, m := harness.OpenConnector(t, harness.ConnectorOf(t, "sqlserver", harness.RefusingDSN(t, "sqlserver")), comb)
	keys, err := m.Keys(context.Background(), "people", 1)
	if err != nil {
		t.Fatal(err)
	}
	v7 := uuid.MustParse("0137aa88-0c46-7ed5-8012-2e27653a9d13")
	for _, c := range []struct{ name, text, wantText, wantStored string }{
		{"comb at end", keys[0].(string), "1240d54e-272e-3a65-9d13-39babcb4e446", "4ed540122e27653a9d1339babcb4e446"},
		{"uuidv7 at end", dialect.SequentialAtEnd.Value(v7).(string), "139d3a65-272e-1280-7ed5-0137aa880c46", "653a9d132e2780127ed50137aa880c46"},
	} {
		if c.text != c.wantText {
			t.Errorf("%s: text %s, want %s", c.name, c.text, c.wantText)
		}
		if got := hex.EncodeToString(harness.StoredBytes(t, c.text)); got != c.wantStored {
			t.Errorf("%s: stored as %s, want %s", c.name, got, c.wantStored)
		}
		// What comes back reads as what was sent.
		var u mssql.UniqueIdentifier
		if err := u.Scan(harness.StoredBytes(t, c.text)); err != nil || !strings.EqualFold(u.String(), c.text) {
			t.Errorf("%s: comes back as %v, error %v", c.name, u, err)
		}
	}
}

// TestServersThatHangUp: an Exec through the real drivers of servers that drop
// the connection at once is a clean error.
func TestServersThatHangUp(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"sqlserver", "oracle"} {
		t.Run(name, func(t *testing.T) {
			address := hangingUp(t)
			db, m := harness.OpenConnector(t, harness.ConnectorOf(t, name, harness.ServerDSN(name, address)), harness.FillID("people", policy.Table{}))
			db.SetMaxOpenConns(1)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			for _, query := range []string{"INSERT INTO people (name) VALUES ('a')", "INSERT INTO people (name, id) VALUES ('a', NULL)"} {
				_, err := db.ExecContext(ctx, query)
				var e *keyfill.Error
				if err == nil || errors.As(err, &e) || ctx.Err() != nil {
					t.Errorf("Exec: error %v, want the driver's", err)
				}
				if rows, err := db.QueryContext(ctx, query); err == nil {
					rows.Close()
					t.Error("Query is no error")
				}
				if _, err := db.PrepareContext(ctx, query); err == nil {
					t.Error("Prepare is no error")
				}
			}
			if _, err := db.BeginTx(ctx, nil); err == nil {
				t.Error("Begin is no error")
			}
			if n := m.Stats().Tables["people"].Filled; n != 0 {
				t.Errorf("%d statements are counted as filled", n)
			}
		})
	}
}
