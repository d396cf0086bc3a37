package keys_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/publicid"
)

type inSwapped struct{}

func (inSwapped) Prefix() string         { return "cus" }
func (inSwapped) Layout() dialect.Layout { return dialect.Swapped }

var swappedEngines = []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}

// TestSwapped: the keys of layout swapped are stored as UUID_TO_BIN(uuid, 1) of MySQL makes
// them, by an expression of the engine, and the program learns the UUIDs.
func TestSwapped(t *testing.T) {
	t.Parallel()
	harness.Each(t, swappedEngines, func(t *testing.T, s *harness.Scratch) {
		binary := harness.ColumnTypes("bytea", "BINARY(16)", "BLOB")[s.Dialect.Name]
		harness.Exec(t, s.Raw, "CREATE TABLE t (id "+binary+" NOT NULL PRIMARY KEY, a INT)")
		db, mount := s.Open(t, harness.FillID("t", policy.Table{Layout: dialect.Swapped, InPlace: &policy.Source{Kind: policy.KindUUIDv7}}))
		ctx, rec := keyfill.Record(context.Background())
		insert := s.Placeholders("INSERT INTO t (a) VALUES (?)")
		for _, query := range []string{insert, insert + ", (2), (3)"} {
			if _, err := db.ExecContext(ctx, query, 1); err != nil {
				t.Fatal(err)
			}
		}
		var returned publicid.ID[inSwapped]
		if err := db.QueryRowContext(ctx, insert+" RETURNING id", 4).Scan(&returned); err != nil {
			t.Fatal(err)
		}
		last, ok := keyfill.Last[uuid.UUID](rec, "t")
		id, _ := keyfill.Last[publicid.ID[inSwapped]](rec, "t")
		if !ok || last != returned.UUID() || id != returned {
			t.Errorf("returned is %v, recorded %v and %v", returned.UUID(), last, id)
		}
		before, err := mount.Keys(ctx, "t", 2)
		if err != nil {
			t.Fatal(err)
		}
		own := dialect.Unswap([16]byte(before[1].([]byte)))
		harness.Exec(t, db, s.Placeholders("INSERT INTO t (id, a) VALUES (?, 5), (?, 6)"), before[0], publicid.FromUUID[inSwapped](own))
		known := []string{dialect.Text(dialect.Unswap([16]byte(before[0].([]byte)))), dialect.Text(own)}
		for _, k := range rec.Keys("t") {
			known = append(known, k.Key.(uuid.UUID).String())
		}
		if len(known) != 7 {
			t.Errorf("%d keys are known, want 7", len(known))
		}
		digits := harness.ColumnTypes("encode(id, 'hex')", "LOWER(HEX(id))", "LOWER(HEX(id))")[s.Dialect.Name]
		for _, text := range known {
			if uuid.MustParse(text).Version() != 7 {
				t.Errorf("%s is no version 7", text)
			}
			u := "'" + text + "'"
			swapped := "CONCAT(SUBSTR(" + u + ", 15, 4), SUBSTR(" + u + ", 10, 4), SUBSTR(" + u + ", 1, 8), SUBSTR(" + u + ", 20, 4), SUBSTR(" + u + ", 25))"
			if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE "+digits+" = "+swapped); n != 1 {
				t.Errorf("%d rows have the key of %s, want 1", n, text)
			}
		}
	})
}

// TestSwappedOrder: the guarantee of layout swapped says "not ordered". By the engine's
// order a swapped uuidv7 follows its predecessor in half of the cases, and one of layout
// binary in all.
func TestSwappedOrder(t *testing.T) {
	t.Parallel()
	source := policy.Source{Kind: policy.KindUUIDv7}
	harness.Each(t, swappedEngines, func(t *testing.T, s *harness.Scratch) {
		binary := harness.ColumnTypes("bytea", "BINARY(16)", "BLOB")[s.Dialect.Name]
		for _, layout := range []dialect.Layout{dialect.SequentialAsBinary, dialect.Swapped} {
			table := "o_" + string(layout)
			harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (n INT PRIMARY KEY, id "+binary+" NOT NULL)")
			at, random := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC), rand.New(rand.NewPCG(5, 6))
			keys := keysource.NewUUIDv7(keysource.Env{Now: func() time.Time { return at }})
			const count = 2000
			var rows []string
			var args []any
			for n := range count {
				at = at.Add(time.Duration(1+random.Int64N(1_000_000)) * time.Microsecond)
				one, err := keys.Next(t.Context(), keysource.Request{N: 1, Layout: layout})
				if err != nil {
					t.Fatal(err)
				}
				rows, args = append(rows, fmt.Sprintf("(%d, ?)", n)), append(args, one[0])
			}
			harness.Exec(t, s.Raw, s.Placeholders("INSERT INTO "+table+" (n, id) VALUES "+strings.Join(rows, ", ")), args...)
			ascending := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM (SELECT id, LAG(id) OVER (ORDER BY n) AS earlier FROM "+table+") pairs WHERE id > earlier")
			t.Logf("%s: %d of %d neighbours ascend", layout, ascending, count-1)
			g, _ := policy.Guarantees(source, s.Dialect)
			switch g.In(layout).Ordered {
			case policy.NotOrdered:
				if ascending < count*45/100 || ascending > count*55/100 {
					t.Errorf("%s: %d of %d neighbours ascend, want half", layout, ascending, count-1)
				}
			default:
				if ascending != count-1 {
					t.Errorf("%s: %d of %d neighbours ascend, want all", layout, ascending, count-1)
				}
			}
		}
	})
}

// TestSwappedRows: the keys of the rows of a query are swapped too, and ascend among
// themselves, since the number of the row stands last.
func TestSwappedRows(t *testing.T) {
	t.Parallel()
	harness.Each(t, swappedEngines, func(t *testing.T, s *harness.Scratch) {
		binary := harness.ColumnTypes("bytea", "BINARY(16)", "BLOB")[s.Dialect.Name]
		harness.Must(t, s.Raw, "CREATE TABLE t (id "+binary+" NOT NULL PRIMARY KEY, a INT NOT NULL)", "CREATE TABLE s (a INT PRIMARY KEY)",
			"INSERT INTO s VALUES (1), (2), (3), (4)")
		db, _ := s.Open(t, harness.FillID("t", policy.Table{Layout: dialect.Swapped, InPlace: &policy.Source{Kind: policy.KindUUIDv7}}))
		harness.Exec(t, db, "INSERT INTO t (a) SELECT a FROM s ORDER BY a")
		if got := harness.IntegersOf(t, s.Raw, "SELECT a FROM t ORDER BY id"); !slices.Equal(got, []int64{1, 2, 3, 4}) {
			t.Errorf("in the order of the keys: %d", got)
		}
		rows, err := s.Raw.Query("SELECT id FROM t")
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		for rows.Next() {
			var key []byte
			if err := rows.Scan(&key); err != nil {
				t.Fatal(err)
			}
			readings, err := keysource.Inspect(hex.EncodeToString(key))
			if err != nil || !slices.ContainsFunc(readings, func(r keysource.Reading) bool {
				return r.Kind == "uuidv7" && r.Layout == dialect.Swapped && time.Since(r.Time).Abs() < time.Hour
			}) {
				t.Errorf("a key is read as %+v, error %v", readings, err)
			}
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	})
}
