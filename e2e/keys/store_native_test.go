package keys_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/keysource"
)

// nextval is the query by which another program draws from a sequence.
func nextval(e harness.Engine, sequence string) string {
	if e.IsPostgres() {
		return "SELECT nextval('" + sequence + "')"
	}
	return "SELECT NEXTVAL(" + sequence + ")"
}

// TestNativeReserve: processes that reserve through one sequence, and others that
// call nextval themselves and count up from what they get, never get the same.
func TestNativeReserve(t *testing.T) {
	t.Parallel()
	for _, block := range []int64{1, 100} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			harness.Each(t, []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}, func(t *testing.T, s *harness.Scratch) {
				harness.Exec(t, s.Raw, fmt.Sprintf("CREATE SEQUENCE numbers INCREMENT BY %d", block))
				harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
				var (
					got harness.Runs
					wg  sync.WaitGroup
				)
				for range 3 {
					r := native.New(harness.StoreOf(t, s), native.Sequence{Sequence: "numbers", Columns: harness.Orders.Columns, Block: block})
					wg.Go(func() {
						seen := int64(0)
						for range 200 {
							n := 1 + rand.Int64N(3*block+2)
							one, err := r.Reserve(context.Background(), n, seen)
							if err != nil || one.First < seen {
								t.Errorf("%+v after %d: %v", one, seen, err)
								return
							}
							seen = one.First + n
							got.Add(one, n)
						}
					})
				}
				for range 3 {
					wg.Go(func() {
						for range 600 {
							var v int64
							if err := s.Raw.QueryRow(nextval(s.Engine, "numbers")).Scan(&v); err != nil {
								t.Error(err)
								return
							}
							got.Add(keysource.Reservation{First: v}, block)
						}
					})
				}
				wg.Wait()
				if count, _ := got.Check(t); count != 3*200+3*600 {
					t.Errorf("%d runs", count)
				}
			})
		})
	}
}

// TestNativeUnfit: what would repeat keys is refused with the statement that sets
// it right, and accepted after that.
func TestNativeUnfit(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, create string
		want         error
		mended       bool
	}{
		{"increment", "CREATE SEQUENCE numbers", store.ErrIncrement, true},
		{"cycle", "CREATE SEQUENCE numbers INCREMENT BY 100 MAXVALUE 100000 CYCLE", store.ErrCycle, true},
		{"descending", "CREATE SEQUENCE numbers INCREMENT BY -100 MINVALUE -100000 MAXVALUE 100000 START WITH 100000", store.ErrIncrement, false},
		{"cache", "CREATE SEQUENCE numbers INCREMENT BY 100 CACHE 50", store.ErrUnordered, true},
		{"missing", "CREATE SEQUENCE others INCREMENT BY 100", store.ErrNoSequence, false},
	}
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				harness.Exec(t, s.Raw, "DROP SEQUENCE IF EXISTS numbers")
				harness.Exec(t, s.Raw, tt.create)
				st := harness.StoreOf(t, s)
				r := native.New(st, native.Sequence{Sequence: "numbers", Columns: harness.Orders.Columns, Block: 100})
				_, err := r.Reserve(context.Background(), 1, 0)
				if tt.want == store.ErrUnordered && !s.IsPostgres() {
					if err != nil {
						t.Errorf("MariaDB's cache is one for all sessions: %v", err)
					}
					return
				}
				var e *store.Error
				if !errors.Is(err, tt.want) || !errors.As(err, &e) {
					t.Fatalf("Reserve: %v, want %v", err, tt.want)
				}
				if !tt.mended {
					return
				}
				harness.Exec(t, s.Raw, e.SQL)
				if _, err := r.Reserve(context.Background(), 1, 0); err != nil {
					t.Errorf("after %s: %v", e.SQL, err)
				}
			})
		}
	})
}

// TestNativeIncrementChanges: the next draw finds that the increment is another
// one.
func TestNativeIncrementChanges(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers INCREMENT BY 100")
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		r := native.New(harness.StoreOf(t, s), native.Sequence{Sequence: "numbers", Columns: harness.Orders.Columns, Block: 100})
		if _, err := r.Reserve(context.Background(), 1, 0); err != nil {
			t.Fatal(err)
		}
		harness.Exec(t, s.Raw, "ALTER SEQUENCE numbers INCREMENT BY 1")
		if _, err := r.Reserve(context.Background(), 1, 0); !errors.Is(err, store.ErrIncrement) {
			t.Errorf("Reserve: %v", err)
		}
	})
}

// TestNativeOwn: the sequence of a column's default is found; another column's, and one
// whose value is changed, are refused.
func TestNativeOwn(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers")
		harness.Exec(t, s.Raw, "CREATE SEQUENCE others")
		reserve := func(kind, sequence string, exclusive bool) error {
			harness.Exec(t, s.Raw, "DROP TABLE IF EXISTS orders")
			harness.Exec(t, s.Raw, "CREATE TABLE orders (id "+kind+", name VARCHAR(20))")
			_, err := native.New(harness.StoreOf(t, s), native.Sequence{Sequence: sequence, Columns: harness.Orders.Columns, Exclusive: exclusive}).
				Reserve(context.Background(), 3, 0)
			return err
		}
		worked := strings.Replace(s.Drawing("numbers"), "DEFAULT ", "DEFAULT (2*", 1) + ")"
		for _, tt := range []struct {
			kind, sequence string
			exclusive      bool
			want           error
		}{
			{s.Drawing("numbers"), "", false, nil},
			{s.Drawing("numbers"), "numbers", false, nil},
			{s.Drawing("numbers"), "others", false, store.ErrOtherSequence},
			{s.Drawing("numbers"), "others", true, nil},
			{worked, "", false, store.ErrNoOwn},
			{worked, "numbers", false, store.ErrOtherSequence},
			{"BIGINT DEFAULT 0", "", false, store.ErrNoOwn},
			{"BIGINT DEFAULT 0", "numbers", false, nil},
		} {
			if err := reserve(tt.kind, tt.sequence, tt.exclusive); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("%s with sequence %q: %v, want %v", tt.kind, tt.sequence, err, tt.want)
			}
		}
		if !s.IsPostgres() {
			return
		}
		for kind, want := range map[string]error{
			"serial": nil, "bigserial": nil, "bigint GENERATED BY DEFAULT AS IDENTITY": nil,
			"text DEFAULT nextval('numbers')":             nil,
			"bigint DEFAULT nextval('numbers'::text)":     store.ErrNoOwn,
			"varchar(2) DEFAULT nextval('numbers')::char": store.ErrNoOwn,
		} {
			if err := reserve(kind, "", false); !errors.Is(err, want) || want == nil && err != nil {
				t.Errorf("%s: %v, want %v", kind, err, want)
			}
		}
	})
}

// TestNativeOwnQuoted: names that need quotes.
func TestNativeOwnQuoted(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		name := s.Dialect.QuoteIdent("Odd 'Name")
		harness.Exec(t, s.Raw, "CREATE SEQUENCE "+name)
		kind := "BIGINT DEFAULT NEXTVAL(" + name + ")"
		if s.IsPostgres() {
			kind = `BIGINT DEFAULT nextval('"Odd ''Name"')`
		}
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id "+kind+", name VARCHAR(20))")
		for _, sequence := range []string{"", name} {
			r := native.New(harness.StoreOf(t, s), native.Sequence{Sequence: sequence, Columns: harness.Orders.Columns})
			if _, err := r.Reserve(context.Background(), 3, 0); err != nil {
				t.Errorf("sequence %q: %v", sequence, err)
			}
		}
	})
}

// TestNativeEnds: what does not fit below MAXVALUE is not given, since another
// sequence may begin there.
func TestNativeEnds(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers INCREMENT BY 10 MAXVALUE 35")
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		r := native.New(harness.StoreOf(t, s), native.Sequence{Sequence: "numbers", Columns: harness.Orders.Columns, Block: 10})
		for _, want := range []int64{1, 11, 21} {
			if got, err := r.Reserve(context.Background(), 10, 0); err != nil || got.First != want {
				t.Fatalf("Reserve = %+v, %v, want %d", got, err, want)
			}
		}
		for range 2 {
			if _, err := r.Reserve(context.Background(), 1, 0); !errors.Is(err, keysource.ErrExhausted) {
				t.Errorf("beyond MAXVALUE: %v", err)
			}
		}
	})
}

// TestNativeBehind: a sequence below the keys in the table is found before the
// first key.
func TestNativeBehind(t *testing.T) {
	t.Parallel()
	harness.Each(t, harness.NativeEngines, func(t *testing.T, s *harness.Scratch) {
		harness.Exec(t, s.Raw, "CREATE SEQUENCE numbers")
		harness.Exec(t, s.Raw, "CREATE TABLE orders (id BIGINT NOT NULL PRIMARY KEY)")
		harness.Exec(t, s.Raw, "INSERT INTO orders VALUES (500)")
		r := native.New(harness.StoreOf(t, s), native.Sequence{Sequence: "numbers", Columns: harness.Orders.Columns})
		source, err := counting.NewSequence(counting.SequenceOptions{Reserver: r, MaxKey: r.MaxKey, Block: 1}, keysource.Env{})
		if err != nil {
			t.Fatal(err)
		}
		defer source.Close(context.Background())
		if _, err := source.Reserve(context.Background(), 1); !errors.Is(err, keysource.ErrStoreBehind) {
			t.Errorf("Reserve: %v", err)
		}
	})
}
