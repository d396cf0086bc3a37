package native_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/store"
	"github.com/keyfill/keyfill/internal/store/fakedb"
	"github.com/keyfill/keyfill/internal/store/native"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/keysource"
)

// nativeFake answers as a database with one sequence, sales.numbers, does. A
// test changes what it says.
type nativeFake struct {
	dialect   *dialect.Dialect
	increment int64
	max       int64
	cycles    int64
	cached    int64
	last      int64
	def       []driver.Value // of the column; nil: none
	values    [][]int64      // of the next draws; then it counts on
	missing   bool
	taken     driver.Value // the state that the column is bound to
	refuses   bool         // to draw
	drawn     int          // queries
}

func newNativeFake(d *dialect.Dialect) *nativeFake {
	n := &nativeFake{dialect: d, increment: 100, max: 1 << 40}
	n.def = map[string][]driver.Value{
		"postgres":  {"sales", "numbers", "nextval('sales.numbers'::regclass)", "nextval('sales.numbers'::regclass)"},
		"mariadb":   {"nextval(`sales`.`numbers`)"},
		"sqlserver": {"(NEXT VALUE FOR [sales].[numbers])"},
		"oracle":    {"sales", nil, `"sales"."numbers"."NEXTVAL"`},
	}[goldens.Of(d)]
	return n
}

// answer answers each kind of query.
func (n *nativeFake) answer(query string) fakedb.Reply {
	row := func(values ...driver.Value) fakedb.Reply { return fakedb.Reply{Rows: [][]driver.Value{values}} }
	lower := strings.ToLower(query)
	has := func(part string) bool { return strings.Contains(lower, part) }
	switch {
	case has("min(name)"):
		return row(n.taken)
	case has("set autocommit"):
		return fakedb.Reply{}
	case has("max(") && has("orders"):
		return row(int64(41))
	case has("pg_get_expr"), has("column_default"), has("d.definition"), has("data_default"):
		if n.def == nil {
			return fakedb.Reply{}
		}
		return row(n.def...)
	case has("generate_series"), has("nextval("), has("sp_sequence_get_range"), has(".nextval"):
		if n.refuses {
			return fakedb.Reply{Err: fakedb.ErrRefused}
		}
		return n.draw()
	case has("seqcycle"), has("cycle_option"), has("is_cycling"), has("cycle_flag"):
		return row(n.increment, n.max, n.cycles, n.cached, n.last)
	case has("relkind = 's'"), has("table_type = 'sequence'"), has("object_id(@p1)"), has("q.sequence_owner, q.sequence_name"):
		if n.missing {
			return fakedb.Reply{}
		}
		return row("sales", "numbers")
	case strings.HasPrefix(query, "SELECT"):
		return row("server")
	}
	return fakedb.Reply{Err: errors.New("not expected: " + query)}
}

func (n *nativeFake) draw() fakedb.Reply {
	n.drawn++
	values := []int64{n.last + n.increment}
	if len(n.values) > 0 {
		values, n.values = n.values[0], n.values[1:]
	}
	var r fakedb.Reply
	if n.dialect.Name == "sqlserver" {
		values = values[:1] // which stands for all
	}
	for _, v := range values {
		n.last = v
		r.Rows = append(r.Rows, []driver.Value{v, n.increment, "oid", "server"})
	}
	return r
}

func openNative(t *testing.T, n *nativeFake, of native.Sequence) (*native.Reserver, *fakedb.DB) {
	t.Helper()
	f := &fakedb.DB{Answer: n.answer}
	db := store.Pool(n.dialect, fakedb.Connector(f, func(f *fakedb.DB) driver.Conn { return fakedb.FullOf(f) }))
	t.Cleanup(func() { db.Close() })
	return native.New(store.New(n.dialect, db), of), f
}

// numbers is the sequence of most tests.
var numbers = native.Sequence{
	Sequence: "sales.numbers",
	Columns:  []store.Column{{Schema: "sales", Table: "orders", Name: "id"}},
	Block:    100,
}

// TestNativeStatements compares what is sent to each engine with
// testdata/native_<dialect>.txtar.
func TestNativeStatements(t *testing.T) {
	ctx := context.Background()
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			n := newNativeFake(d)
			r, f := openNative(t, n, numbers)
			var got []txtar.File
			step := func(name string, err error) {
				t.Helper()
				if err != nil {
					t.Fatalf("%s: %v", name, err)
				}
				got = append(got, txtar.File{Name: name, Data: []byte(f.Lines() + "\n")})
			}
			if goldens.Has("mysql sqlite", d) {
				if _, err := r.Reserve(ctx, 100, 0); !errors.Is(err, store.ErrNoNative) {
					t.Errorf("Reserve: %v", err)
				}
				fakedb.Compare(t, filepath.Join("testdata", "native_"+goldens.Of(d)+".txtar"), nil)
				return
			}
			first, err := r.Reserve(ctx, 100, 0)
			step("Reserve, the first time", err)
			if first.First != 100 {
				t.Errorf("Reserve = %+v", first)
			}
			_, err = r.Reserve(ctx, 1, 0)
			step("Reserve", err)
			n.values = [][]int64{{1000, 1100, 1200}}
			_, err = r.Reserve(ctx, 250, 0)
			step("Reserve of three blocks", err)
			_, err = r.MaxKey(ctx)
			step("MaxKey", err)
			own := numbers
			own.Sequence = ""
			r, f = openNative(t, n, own)
			_, err = r.Reserve(ctx, 100, 0)
			step("Reserve from the column's own", err)
			fakedb.Compare(t, filepath.Join("testdata", "native_"+goldens.Of(d)+".txtar"), got)
		})
	}
}

// TestNativeUnfit: a sequence that could repeat keys, or is not the column's, is
// an error before anything is drawn, which keysource passes on.
func TestNativeUnfit(t *testing.T) {
	tests := []struct {
		name   string
		native native.Sequence
		change func(*nativeFake)
		want   error
		says   string
	}{
		{"increment", numbers, func(n *nativeFake) { n.increment = 1 }, store.ErrIncrement,
			`INCREMENT BY 1, but block: 100; say block: 1, or give it the block's: run ALTER SEQUENCE "sales"."numbers" INCREMENT BY 100`},
		{"greater increment", numbers, func(n *nativeFake) { n.increment = 1000 }, store.ErrIncrement,
			`INCREMENT BY 100 RESTART WITH <a number above all keys>`},
		{"descending", numbers, func(n *nativeFake) { n.increment = -100 }, store.ErrIncrement, "INCREMENT BY -100, but block: 100: run"},
		{"cycle", numbers, func(n *nativeFake) { n.cycles = 1 }, store.ErrCycle, `NO CYCLE`},
		{"cache", numbers, func(n *nativeFake) { n.cached = 1 }, store.ErrUnordered, "CACHE 1"},
		{"missing", numbers, func(n *nativeFake) { n.missing = true }, store.ErrNoSequence, "sales.numbers"},
		{"worked on", numbers, func(n *nativeFake) { n.def[2] = "(nextval('sales.numbers'::regclass) * 2)" }, store.ErrOtherSequence, "sales.orders.id"},
		{"cut", numbers, func(n *nativeFake) { n.def[2] = "(nextval('sales.numbers'::regclass))::character varying(2)" }, store.ErrOtherSequence, ""},
		{"unknown default", numbers, func(n *nativeFake) { n.def = []driver.Value{nil, nil, "nextval(('s'::text)::regclass)", nil} }, store.ErrOtherSequence, ""},
		{"another state's", numbers, func(n *nativeFake) { n.taken = "orders" }, store.ErrTaken, `"orders"`},
		{"no own", native.Sequence{Columns: numbers.Columns, Block: 100}, func(n *nativeFake) { n.def = nil }, store.ErrNoOwn, "name one"},
		{"own of two", native.Sequence{Columns: append(numbers.Columns, store.Column{Table: "t", Name: "id"}), Block: 100},
			func(*nativeFake) {}, store.ErrNoOwn, "2 columns"},
		{"no name", native.Sequence{Sequence: "a b", Columns: numbers.Columns, Block: 100}, func(*nativeFake) {}, store.ErrNoSequence, "not a name"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := newNativeFake(dialect.PostgreSQL())
			tt.change(n)
			r, _ := openNative(t, n, tt.native)
			_, err := r.Reserve(context.Background(), 1, 0)
			var e *store.Error
			if !errors.As(err, &e) || !errors.Is(err, tt.want) || !errors.Is(err, keysource.ErrStoreState) || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("Reserve: %v; want %v with %q", err, tt.want, tt.says)
			}
			if n.drawn != 0 {
				t.Errorf("%d draws", n.drawn)
			}
			if n.missing || n.increment == 100 {
				return
			}
			// What is set right is found so.
			n.increment = 100
			if _, err := r.Reserve(context.Background(), 1, 0); err != nil {
				t.Errorf("after it was set right: %v", err)
			}
		})
	}
}

// TestNativeFit: what another program may do is no hindrance.
func TestNativeFit(t *testing.T) {
	for name, change := range map[string]func(*nativeFake, *native.Sequence){
		"no default":       func(n *nativeFake, _ *native.Sequence) { n.def = nil },
		"another default":  func(n *nativeFake, _ *native.Sequence) { n.def = []driver.Value{nil, nil, "0", nil} },
		"cast to text":     func(n *nativeFake, _ *native.Sequence) { n.def[2] = "(nextval('sales.numbers'::regclass))::text" },
		"exclusive":        func(n *nativeFake, q *native.Sequence) { n.def[2], q.Exclusive = "(nextval('x'::regclass) + 1)", true },
		"quoted":           func(_ *nativeFake, q *native.Sequence) { q.Sequence = `"sales".NUMBERS` },
		"one of the bound": func(n *nativeFake, q *native.Sequence) { q.Columns = append(q.Columns, q.Columns[0]) },
	} {
		t.Run(name, func(t *testing.T) {
			n, q := newNativeFake(dialect.PostgreSQL()), numbers
			change(n, &q)
			r, _ := openNative(t, n, q)
			if got, err := r.Reserve(context.Background(), 7, 0); err != nil || got != (keysource.Reservation{First: 100, Server: "oid@server"}) {
				t.Errorf("Reserve = %+v, %v", got, err)
			}
		})
	}
}

// TestNativeAdjacent: values that do not follow each other are drawn again.
func TestNativeAdjacent(t *testing.T) {
	ctx := context.Background()
	one := numbers
	one.Block = 1
	start := func(values ...[]int64) (*native.Reserver, *nativeFake) {
		n := newNativeFake(dialect.PostgreSQL())
		n.increment, n.values = 1, values
		r, _ := openNative(t, n, one)
		return r, n
	}
	r, n := start([]int64{5, 4, 3})
	if got, err := r.Reserve(ctx, 3, 0); err != nil || got.First != 3 || n.drawn != 1 {
		t.Errorf("in another order: %+v, %v after %d draws", got, err, n.drawn)
	}
	r, n = start([]int64{1, 2, 4}, []int64{6, 7, 9, 10, 11, 12})
	if got, err := r.Reserve(ctx, 3, 0); err != nil || got.First != 9 || n.drawn != 2 {
		t.Errorf("one between: %+v, %v after %d draws", got, err, n.drawn)
	}
	r, n = start([]int64{1, 2, 4}, []int64{5, 6, 8, 10, 12, 14})
	if got, err := r.Reserve(ctx, 3, 0); err != nil || got.First != 4 || n.drawn != 2 {
		t.Errorf("from one draw to the next: %+v, %v after %d draws", got, err, n.drawn)
	}
	var apart [][]int64
	for i := range 20 {
		apart = append(apart, []int64{int64(10*i + 1), int64(10*i + 3), int64(10*i + 5)})
	}
	r, n = start(apart...)
	_, err := r.Reserve(ctx, 3, 0)
	if !errors.Is(err, store.ErrScattered) || !errors.Is(err, keysource.ErrStoreState) || n.drawn != 10 {
		t.Errorf("never: %v after %d draws", err, n.drawn)
	}
	if !strings.Contains(err.Error(), "INCREMENT BY 3 or more") {
		t.Errorf("never: %v", err)
	}
}

// TestNativeBack: a value below what was seen is the answer, so that the source
// notices.
func TestNativeBack(t *testing.T) {
	n := newNativeFake(dialect.MariaDB())
	r, _ := openNative(t, n, numbers)
	if got, err := r.Reserve(context.Background(), 100, 5000); err != nil || got.First != 100 {
		t.Errorf("Reserve = %+v, %v", got, err)
	}
}

// TestNativeEnd: a sequence that ends is exhausted, by what it draws and by what
// it refuses.
func TestNativeEnd(t *testing.T) {
	ctx := context.Background()
	n := newNativeFake(dialect.PostgreSQL())
	n.max = 150
	r, _ := openNative(t, n, numbers)
	_, err := r.Reserve(ctx, 1, 0)
	if !errors.Is(err, keysource.ErrExhausted) || !strings.Contains(err.Error(), "MAXVALUE is 150") {
		t.Errorf("a block beyond the end: %v", err)
	}
	n.refuses, n.last = true, 100
	if _, err = r.Reserve(ctx, 1, 0); !errors.Is(err, keysource.ErrExhausted) {
		t.Errorf("refused at the end: %v", err)
	}
	n.max = 1 << 40
	if _, err = r.Reserve(ctx, 1, 0); !errors.Is(err, store.ErrNoSequence) || !errors.Is(err, keysource.ErrStoreState) {
		t.Errorf("refused before it: %v", err)
	}
}

// TestNativeIncrementChanges: an increment that is changed after the first draw
// is found by the next one.
func TestNativeIncrementChanges(t *testing.T) {
	ctx := context.Background()
	n := newNativeFake(dialect.MariaDB())
	r, _ := openNative(t, n, numbers)
	if _, err := r.Reserve(ctx, 100, 0); err != nil {
		t.Fatal(err)
	}
	n.increment = 1
	if _, err := r.Reserve(ctx, 100, 0); !errors.Is(err, store.ErrIncrement) {
		t.Errorf("Reserve: %v", err)
	}
	if err := r.Advance(ctx, 5); !errors.Is(err, store.ErrIncrement) {
		t.Errorf("Advance of one that is unfit: %v", err)
	}
	n.increment = 100
	err := r.Advance(ctx, 5)
	if !errors.Is(err, store.ErrNoAdvance) || !strings.Contains(err.Error(), "run ALTER SEQUENCE `sales`.`numbers` RESTART WITH") {
		t.Errorf("Advance: %v", err)
	}
}
