package keys_test

import (
	"database/sql/driver"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/snowflakebits"
	"github.com/keyfill/keyfill/keysource"
)

// timed is a kind of keys that hold a time, in one layout.
type timed struct {
	kind   string
	types  map[string]string // the types of columns by dialect, separated by semicolons
	key    func(t *testing.T, at time.Time) driver.Value
	bounds func(from, to time.Time) (low, high driver.Value, err error)
}

// timedKinds are the kinds in their layouts, but for SQL Server's: TestBounds of package
// keysource compares as it does.
func timedKinds() (all []timed) {
	type makes = func(keysource.Env) keysource.Source
	random := rand.New(rand.NewPCG(1, 2))
	from := func(source makes, l dialect.Layout) func(t *testing.T, at time.Time) driver.Value {
		return func(t *testing.T, at time.Time) driver.Value {
			t.Helper()
			keys, err := source(keysource.Env{Now: func() time.Time { return at }}).Next(t.Context(), keysource.Request{N: 1, Layout: l})
			if err != nil {
				t.Fatal(err)
			}
			return keys[0]
		}
	}
	uuidv7 := func(e keysource.Env) keysource.Source { return keysource.NewUUIDv7(e) }
	ulid := func(e keysource.Env) keysource.Source { return keysource.NewULID(e) }
	const text, binary = dialect.SequentialAsString, dialect.SequentialAsBinary
	bytes := harness.ColumnTypes("bytea", "BINARY(16)", "BLOB")
	all = append(all,
		timed{"uuidv7", harness.ColumnTypes(`uuid; text; char(36); text COLLATE "en-x-icu"`, "UUID; CHAR(36) CHARACTER SET ascii; VARCHAR(36)", "TEXT"), from(uuidv7, text),
			func(from, to time.Time) (low, high driver.Value, err error) {
				return keysource.UUIDv7Bounds(from, to, text)
			}},
		timed{"uuidv7 binary", bytes, from(uuidv7, binary),
			func(from, to time.Time) (low, high driver.Value, err error) {
				return keysource.UUIDv7Bounds(from, to, binary)
			}},
		timed{"ulid", harness.ColumnTypes(`char(26); text COLLATE "en-x-icu"`, "CHAR(26) CHARACTER SET ascii; VARCHAR(26)", "TEXT"), from(ulid, text),
			func(from, to time.Time) (low, high driver.Value, err error) {
				return keysource.ULIDBounds(from, to, text)
			}},
		timed{"ulid binary", bytes, from(ulid, binary),
			func(from, to time.Time) (low, high driver.Value, err error) {
				return keysource.ULIDBounds(from, to, binary)
			}},
	)
	for _, epoch := range []keysource.Epoch{keysource.EpochDotNet, keysource.EpochUnix} {
		comb := func(e keysource.Env) keysource.Source { return keysource.NewCOMB(e, epoch) }
		all = append(all,
			timed{"comb " + string(epoch), harness.ColumnTypes("uuid; text", "CHAR(36) CHARACTER SET ascii", "TEXT"), from(comb, text),
				func(from, to time.Time) (low, high driver.Value, err error) {
					return keysource.COMBBounds(from, to, epoch, text)
				}},
			timed{"comb " + string(epoch) + " binary", bytes, from(comb, binary),
				func(from, to time.Time) (low, high driver.Value, err error) {
					return keysource.COMBBounds(from, to, epoch, binary)
				}},
		)
	}
	for name, bits := range map[string]keysource.SnowflakeBits{"snowflake": {}, "snowflake 53": keysource.SnowflakeBits53()} {
		b := bits.WithDefaults()
		f := snowflakebits.New(b.Time, b.Worker, b.Sequence, b.Unit, b.Epoch)
		all = append(all, timed{name, harness.ColumnTypes("bigint", "BIGINT", "INTEGER"),
			func(_ *testing.T, at time.Time) driver.Value {
				slot := (at.UnixMilli()-f.Epoch)/f.Unit<<f.SequenceBits | random.Int64N(1<<f.SequenceBits)
				return f.Key(slot, random.Int64N(1<<f.WorkerBits))
			},
			func(from, to time.Time) (low, high driver.Value, err error) {
				return keysource.SnowflakeBounds(from, to, bits, "")
			},
		})
	}
	return all
}

// TestBounds: WHERE id >= low AND id < high finds the rows whose keys were made in a range
// of time, in each type of column that has such keys.
func TestBounds(t *testing.T) {
	t.Parallel()
	const unit = 100 * time.Millisecond // of SnowflakeBits53, the coarsest; whole ones are exact for all
	day := time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC)
	harness.Each(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
		random := rand.New(rand.NewPCG(3, 4))
		var times []time.Time // around a few units of time, and on their edges
		for n := range 150 {
			edge := day.Add(time.Duration(n%5) * unit)
			times = append(times, edge.Add(time.Duration(random.Int64N(int64(unit)))), edge, edge.Add(-1), edge.Add(1))
		}
		number := 0
		for _, kind := range timedKinds() {
			for _, typ := range strings.Split(kind.types[s.Dialect.Name], "; ") {
				number++
				table := fmt.Sprintf("k%d", number)
				harness.Exec(t, s.Raw, "CREATE TABLE "+table+" (n INT PRIMARY KEY, id "+typ+" NOT NULL)")
				var rows []string
				var args []any
				for n, at := range times {
					rows, args = append(rows, fmt.Sprintf("(%d, ?)", n)), append(args, kind.key(t, at))
				}
				harness.Exec(t, s.Raw, s.Placeholders("INSERT INTO "+table+" (n, id) VALUES "+strings.Join(rows, ", ")), args...)
				harness.Exec(t, s.Raw, "CREATE INDEX "+table+"_id ON "+table+" (id)")
				for range 25 {
					from := day.Add(time.Duration(random.IntN(6)-1) * unit)
					to := from.Add(time.Duration(random.IntN(4)) * unit)
					low, high, err := kind.bounds(from, to)
					if err != nil {
						t.Fatal(err)
					}
					found, err := s.Raw.Query(s.Placeholders("SELECT n FROM "+table+" WHERE id >= ? AND id < ? ORDER BY n"), low, high)
					if err != nil {
						t.Fatal(err)
					}
					var got, want []int
					for found.Next() {
						var n int
						if err := found.Scan(&n); err != nil {
							t.Fatal(err)
						}
						got = append(got, n)
					}
					if err := found.Err(); err != nil {
						t.Fatal(err)
					}
					for n, at := range times {
						if !at.Before(from) && at.Before(to) {
							want = append(want, n)
						}
					}
					if !slices.Equal(got, want) {
						t.Errorf("%s in %s: of [%v, %v) are found %d rows, want %d", kind.kind, typ, from, to, len(got), len(want))
					}
				}
			}
		}
	})
}
