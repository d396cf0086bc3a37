package statements_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	mssql "github.com/microsoft/go-mssqldb"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/faketds"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keyfilltest"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// bulkServer opens go-mssqldb on a server whose tables have the columns Name, ID and n.
// params are appended to the DSN.
func bulkServer(t *testing.T, kind, params string, rule policy.Table) (*sql.Conn, *keyfill.Mount, *faketds.Server) {
	t.Helper()
	return bulkServerOn(t, kind, params, rule, new(keyfilltest.Counter))
}

// bulkServerOn is bulkServer with integers of a counter.
func bulkServerOn(t *testing.T, kind, params string, rule policy.Table, counter *keyfilltest.Counter) (*sql.Conn, *keyfill.Mount, *faketds.Server) {
	t.Helper()
	s := faketds.NewServer(t)
	s.Columns = []faketds.Column{faketds.ColumnOf("Name", "nvarchar(40)"), faketds.ColumnOf("ID", kind), faketds.ColumnOf("n", "int")}
	o := keyfill.Options{Policy: harness.FillID("people", rule)}
	o.Reservers = func(string) keysource.Reserver { return counter }
	db, m := harness.OpenConnector(t, harness.ConnectorOf(t, "sqlserver", harness.ServerDSN("sqlserver", s.Listener.Addr())+params), o)
	conn, err := db.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return conn, m, s
}

// bulkText is the text of a bulk load into people.
func bulkText(columns ...string) string {
	return mssql.CopyIn("people", mssql.BulkOptions{}, columns...)
}

// storedUUID is what a uniqueidentifier stores for the text of a key.
func storedUUID(t *testing.T, key any) any { return harness.StoredBytes(t, key.(uuid.UUID).String()) }

func textOf(_ *testing.T, key any) any { return fmt.Sprint(key) }

func itself(_ *testing.T, key any) any { return key }

// rfcBytes are the bytes of a UUID in their own order.
func rfcBytes(_ *testing.T, key any) any {
	id := key.(uuid.UUID)
	return id[:]
}

// TestBulk: the key of every row of a bulk load arrives as INSERT would have it
// stored, for every layout and column, whether the driver turns GUIDs around or
// not.
func TestBulk(t *testing.T) {
	t.Parallel()
	sequence := &policy.Source{Kind: policy.KindSequence}
	for _, params := range []string{"", "&guid+conversion=true"} {
		for _, tt := range []struct {
			name, kind string
			rule       policy.Table
			want       func(t *testing.T, key any) any
		}{
			{"at end", "uniqueidentifier", policy.Table{}, storedUUID},
			{"string", "uniqueidentifier", policy.Table{Layout: dialect.SequentialAsString}, storedUUID},
			{"binary", "uniqueidentifier", policy.Table{Layout: dialect.SequentialAsBinary}, rfcBytes},
			{"binary", "binary(16)", policy.Table{Layout: dialect.SequentialAsBinary}, rfcBytes},
			{"binary", "varbinary(16)", policy.Table{Layout: dialect.SequentialAsBinary}, rfcBytes},
			{"at end", "char(36)", policy.Table{}, textOf},
			{"string", "nchar(36)", policy.Table{Layout: dialect.SequentialAsString}, textOf},
			{"ulid", "nvarchar(40)", policy.Table{Source: "ulid"}, textOf},
			{"ulid", "varchar(40)", policy.Table{Source: "ulid"}, textOf},
			{"sequence", "bigint", policy.Table{InPlace: sequence}, itself},
			{"sequence", "int", policy.Table{InPlace: sequence}, itself},
			{"sequence", "decimal(20)", policy.Table{InPlace: sequence}, itself},
			{"sequence", "nvarchar(40)", policy.Table{InPlace: sequence}, textOf},
			{"sequence", "varchar(40)", policy.Table{InPlace: sequence}, textOf},
			{"decimal text", "nvarchar(40)", policy.Table{InPlace: sequence, Layout: dialect.SequentialAsString}, textOf},
			{"decimal text", "bigint", policy.Table{InPlace: sequence, Layout: dialect.SequentialAsString}, func(_ *testing.T, key any) any {
				n, ok := key.(int64)
				if !ok {
					_, _ = fmt.Sscan(key.(string), &n)
				}
				return n
			}},
		} {
			t.Run(tt.kind+" "+tt.name+params, func(t *testing.T) {
				conn, m, s := bulkServer(t, tt.kind, params, tt.rule)
				ctx, rec := keyfill.Record(context.Background())
				if err := harness.Load(ctx, conn, bulkText("n", "Name"), []any{1, "a"}, []any{nil, "b"}, []any{3, nil}); err != nil {
					t.Fatal(err)
				}
				loads, keys := s.TakeLoads(), rec.Keys("people")
				if len(loads) != 1 || !slices.Equal(loads[0].Columns, []string{"n", "Name", "ID"}) || len(keys) != 3 {
					t.Fatalf("%d keys, sent %+v", len(keys), loads)
				}
				for i, want := range [][]any{{int64(1), "a"}, {nil, "b"}, {int64(3), nil}} {
					want = append(want, tt.want(t, keys[i].Key))
					if got := loads[0].Rows[i]; fmt.Sprintf("%#v", got) != fmt.Sprintf("%#v", want) {
						t.Errorf("row %d arrived as %#v, want %#v", i, got, want)
					}
					if keys[i].Outcome != keyfill.Stored || keys[i].Row != i {
						t.Errorf("key %d is %s, of row %d", i, keys[i].Outcome, keys[i].Row)
					}
				}
				if st := m.Stats().Tables["people"]; st.Filled != 3 || st.Stored != 3 || st.Keys != 3 || st.Refused != nil {
					t.Errorf("counted %+v", st)
				}
			})
		}
	}
}

// TestBulkListed: NULL and zero in a key column that is listed are filled, and
// other keys stay.
func TestBulkListed(t *testing.T) {
	t.Parallel()
	conn, m, s := bulkServer(t, "uniqueidentifier", "", policy.Table{})
	own, err := uuid.Parse(harness.OwnKey)
	if err != nil {
		t.Fatal(err)
	}
	stored := harness.StoredBytes(t, harness.OwnKey)
	ctx, rec := keyfill.Record(context.Background())
	err = harness.Load(ctx, conn, bulkText("ID", "Name"), []any{nil, "a"}, []any{stored, "b"}, []any{make([]byte, 16), "c"},
		[]any{mssql.UniqueIdentifier(own), "d"}, []any{mssql.UniqueIdentifier{}, "e"})
	if err != nil {
		t.Fatal(err)
	}
	loads, keys := s.TakeLoads(), rec.Keys("people")
	if len(loads) != 1 || !slices.Equal(loads[0].Columns, []string{"ID", "Name"}) || len(keys) != 3 {
		t.Fatalf("%d keys, sent %+v", len(keys), loads)
	}
	for i, want := range []any{storedUUID(t, keys[0].Key), stored, storedUUID(t, keys[1].Key), stored, storedUUID(t, keys[2].Key)} {
		if got := loads[0].Rows[i]; fmt.Sprint(got) != fmt.Sprint([]any{want, string(rune('a' + i))}) {
			t.Errorf("row %d arrived as %v, want %v", i, got, want)
		}
	}
	if st := m.Stats().Tables["people"]; st.Filled != 3 || st.Kept != 2 {
		t.Errorf("counted %+v", st)
	}
}

// TestBulkText: the driver's own statement names the columns and the options, and
// keyfill's queries go before it.
//
//deviation:bulk-loads | Before a bulk load keyfill asks the table for its columns, and the driver for the form of a GUID. | SQL Server | `SELECT * FROM t WHERE 1 = 0` | –
func TestBulkText(t *testing.T) {
	t.Parallel()
	conn, _, s := bulkServer(t, "uniqueidentifier", "", policy.Table{})
	options := mssql.BulkOptions{Tablock: true, Order: []string{"[n] DESC"}, CheckConstraints: true}
	if err := harness.Load(context.Background(), conn, mssql.CopyIn("[dbo].[people]", options, "n"), []any{1}); err != nil {
		t.Fatal(err)
	}
	var batches []string
	for _, c := range s.Take() {
		batches = append(batches, c.Batch)
	}
	want := []string{
		"SELECT * FROM [dbo].[people] WHERE 1 = 0",
		"SELECT CAST('00112233-4455-6677-8899-aabbccddeeff' AS uniqueidentifier)",
		"SET FMTONLY ON", "select * from [dbo].[people] SET FMTONLY OFF",
		"INSERT BULK [dbo].[people] ([n] int, [ID] uniqueidentifier) WITH (CHECK_CONSTRAINTS,ORDER([n] DESC),TABLOCK)",
	}
	if !slices.Equal(batches, want) {
		t.Errorf("sent\n%s\nwant\n%s", strings.Join(batches, "\n"), strings.Join(want, "\n"))
	}
}

// TestBulkRefused: what the driver would not write, or would write as another
// value, is refused before the load begins, or before the row is sent.
//
//deviation:bulk-loads | A bulk load is refused if the type of the key column is not uniqueidentifier, binary, varbinary, char, varchar, nchar, nvarchar, an integer, or a decimal without places: the driver would store other keys than an INSERT. A row whose integer is too large for the column is refused too. | SQL Server | a UUID for an `int` | `layout:`; another column
func TestBulkRefused(t *testing.T) {
	t.Parallel()
	sequence := &policy.Source{Kind: policy.KindSequence}
	for _, tt := range []struct {
		name, kind string
		rule       policy.Table
		columns    []string
		row        bool // it is the row that is refused
	}{
		{"a UUID for an integer", "int", policy.Table{}, []string{"n"}, true},
		{"a text for a uniqueidentifier", "uniqueidentifier", policy.Table{Source: "ulid"}, []string{"n"}, true},
		{"bytes for a text", "char(36)", policy.Table{Layout: dialect.SequentialAsBinary}, []string{"n"}, true},
		{"a text for bytes", "binary(16)", policy.Table{}, []string{"n"}, true},
		{"places behind the point", "decimal(20,2)", policy.Table{InPlace: sequence}, []string{"n"}, false},
		{"an integer too great", "int", policy.Table{InPlace: sequence}, []string{"n"}, true},
		{"no columns", "bigint", policy.Table{InPlace: sequence}, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			counter := new(keyfilltest.Counter)
			if err := counter.Advance(context.Background(), math.MaxInt32+1); err != nil {
				t.Fatal(err)
			}
			conn, m, s := bulkServerOn(t, tt.kind, "", tt.rule, counter)
			stmt, err := conn.PrepareContext(context.Background(), bulkText(tt.columns...))
			if tt.row && err == nil {
				defer stmt.Close()
				_, err = stmt.Exec(1)
			}
			var e *keyfill.Error
			if !errors.Is(err, rewrite.ErrBulk) || !errors.As(err, &e) {
				t.Fatalf("error %v, want %v", err, rewrite.ErrBulk)
			}
			for _, c := range s.Take() {
				if strings.Contains(c.Batch, "INSERT BULK") {
					t.Errorf("sent %q", c.Batch)
				}
			}
			if st := m.Stats().Tables["people"]; st.Refused[keyfill.Reason(rewrite.ErrBulk)] != 1 || st.Filled != 0 {
				t.Errorf("counted %+v", st)
			}
		})
	}
	t.Run("not prepared", func(t *testing.T) {
		conn, _, s := bulkServer(t, "bigint", "", policy.Table{InPlace: sequence})
		if _, err := conn.ExecContext(context.Background(), bulkText("n"), 1); !errors.Is(err, rewrite.ErrBulk) {
			t.Errorf("error %v, want %v", err, rewrite.ErrBulk)
		}
		if calls := s.Take(); len(calls) != 0 {
			t.Errorf("sent %+v", calls)
		}
	})
	t.Run("no such column", func(t *testing.T) {
		conn, _, s := bulkServer(t, "bigint", "", policy.Table{InPlace: sequence})
		s.Columns = s.Columns[:1]
		if _, err := conn.PrepareContext(context.Background(), bulkText("Name")); !errors.Is(err, rewrite.ErrBulk) {
			t.Errorf("error %v, want %v", err, rewrite.ErrBulk)
		}
	})
	t.Run("another number of values", func(t *testing.T) {
		conn, _, _ := bulkServer(t, "uniqueidentifier", "", policy.Table{})
		stmt, err := conn.PrepareContext(context.Background(), bulkText("n"))
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		if _, err := stmt.Exec(1, 2); !errors.Is(err, rewrite.ErrArguments) {
			t.Errorf("error %v, want %v", err, rewrite.ErrArguments)
		}
	})
}

// TestBulkModes: the text and the rows go out as they came.
func TestBulkModes(t *testing.T) {
	t.Parallel()
	for _, mode := range []policy.Mode{policy.ModeOff, policy.ModeDryRun} {
		t.Run(mode.String(), func(t *testing.T) {
			conn, m, s := bulkServer(t, "uniqueidentifier", "", policy.Table{Mode: mode})
			if err := harness.Load(context.Background(), conn, bulkText("n"), []any{1}, []any{2}); err != nil {
				t.Fatal(err)
			}
			if loads := s.TakeLoads(); len(loads) != 1 || !slices.Equal(loads[0].Columns, []string{"n"}) || len(loads[0].Rows) != 2 {
				t.Errorf("sent %+v", loads)
			}
			if calls := s.Take(); calls[0].Batch != "SET FMTONLY ON" {
				t.Errorf("sent %+v", calls)
			}
			want := uint64(2)
			if mode == policy.ModeOff {
				want = 1 // when it is prepared
			}
			if st := m.Stats().Tables["people"]; st.Filled != want || st.Withheld != want || st.Keys != 0 {
				t.Errorf("counted %+v", st)
			}
		})
	}
}
