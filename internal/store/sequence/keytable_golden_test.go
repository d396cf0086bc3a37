package sequence_test

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
	"github.com/keyfill/keyfill/internal/store/reserver"
	"github.com/keyfill/keyfill/internal/store/sequence"
	"github.com/keyfill/keyfill/internal/txtar"
	"github.com/keyfill/keyfill/keysource"
)

// keyAnswers is a fake with a table app.keys of one row, whose next integer is
// 42, and with procedures that reserve it.
func keyAnswers(query string) fakedb.Reply {
	row := func(values ...driver.Value) fakedb.Reply { return fakedb.Reply{Rows: [][]driver.Value{values}} }
	has := func(part string) bool { return strings.Contains(query, part) }
	switch {
	case has("information_schema.columns"):
		return row([]byte("bigint(20)"))
	case has("information_schema.engines"):
		return row("YES")
	case has("pg_attribute"), has("sys.columns"):
		return row("bigint")
	case has("all_tab_columns"):
		return row("NUMBER(19,0)")
	case has("WHERE 1 = 0"):
		return fakedb.Reply{Err: fakedb.ErrRefused} // there is no keyfill_sequences
	case has("MIN(name)"):
		return row(nil)
	case has("MAX("):
		return row("41")
	case has("next_key("), has("next_key @"), has("keyfill_reserve("), has("keyfill_reserve @"):
		if has("($1, $2), ") {
			return row(int64(42), "server")
		}
		return row(int64(42))
	case has("SET serial = serial + "), has("SET serial = LAST_INSERT_ID(serial + "):
		return fakedb.Reply{Rows: [][]driver.Value{{int64(52), "server"}}, Affected: 1, ID: 52, Out: []any{int64(52)}}
	case strings.HasPrefix(query, "UPDATE"), has("SET autocommit"):
		return fakedb.Reply{Affected: 1}
	case has("FROM app.keys"):
		return row(int64(42), int64(7), "server")
	case has("FROM keyfill_sequences"):
		return row(int64(42), "made", "server", "orders", "id", "")
	case strings.HasPrefix(query, "SELECT"), query == "COMMIT":
		return row("server")
	}
	return fakedb.Reply{Err: errors.New("not expected: " + query)}
}

// shifted stores a number that is 1,000 greater.
type shifted struct{}

func (shifted) Residue(next int64) int64            { return next + 1000 }
func (shifted) NextOf(residue int64) (int64, error) { return residue - 1000, nil }

// TestKeyTableStatements is TestStatements for the ways that are composed, with
// testdata/keytable_<dialect>.txtar.
func TestKeyTableStatements(t *testing.T) {
	for _, d := range dialect.All() {
		t.Run(d.Name, func(t *testing.T) {
			f := &fakedb.DB{Answer: keyAnswers}
			fakedb.Compare(t, filepath.Join("testdata", "keytable_"+goldens.Of(d)+".txtar"), keySession(t, d, f))
		})
	}
}

// keySession uses every statement that is composed, and every call.
func keySession(t *testing.T, d *dialect.Dialect, f *fakedb.DB) []txtar.File {
	t.Helper()
	ctx := context.Background()
	st := fakedb.Pooled(t, d, f)
	var got []txtar.File
	step := func(name string, err error) {
		t.Helper()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got = append(got, txtar.File{Name: name, Data: []byte(f.Lines() + "\n")})
	}
	reserve := func(name string, q sequence.Sequence) *reserver.Reserver {
		t.Helper()
		r := reserver.New(st, q)
		first, err := r.Reserve(ctx, 10, 42)
		step(name, err)
		if first.First != 42 && q.Codec == nil {
			t.Errorf("%s: %+v", name, first)
		}
		return r
	}
	q := fakedb.Orders
	q.Create = false
	q.Table = &sequence.KeyTable{Name: "app.keys", Key: "tableName", Row: "orders", Value: "serial", Version: "ver"}
	r := reserve("Reserve from a key table", q)
	step("Advance", r.Advance(ctx, 100))
	q.Lock = sequence.LockOptimistic
	reserve("Reserve optimistically", q)
	q.Lock, q.Codec, q.Bounds.Max = "", shifted{}, 1e6
	f.Answer = func(query string) fakedb.Reply {
		got := keyAnswers(query)
		if len(got.Rows) == 1 && len(got.Rows[0]) == 3 {
			got.Rows[0][0] = int64(1042)
		}
		return got
	}
	reserve("Reserve what is stored as something else", q)

	q.Codec, q.Table.Last = nil, true
	got = append(got, missingKeyRow(t, st, f, q))

	f.Answer = keyAnswers
	q = fakedb.Orders
	q.Lock = sequence.LockOptimistic
	reserve("Reserve optimistically from keyfill_sequences", q)
	if d.Name == dialect.SQLite().Name {
		return got
	}
	q = fakedb.Orders
	q.Procedure = "app.next_key"
	r = reserve("Reserve by the application's procedure", q)
	step("Advance by it", r.Advance(ctx, 100))
	q.Procedure = store.ReserveProcedure
	reserve("Reserve by the shipped one", q)
	for _, statement := range store.ProcedureDDL(d) {
		got = append(got, txtar.File{Name: "ProcedureDDL", Data: []byte(statement + "\n")})
	}
	return got
}

// missingKeyRow returns what the error of a key table without the row says.
func missingKeyRow(t *testing.T, st *store.Store, f *fakedb.DB, q sequence.Sequence) txtar.File {
	t.Helper()
	f.Answer = func(query string) fakedb.Reply {
		if strings.Contains(query, "FROM app.keys") {
			return fakedb.Reply{}
		}
		return keyAnswers(query)
	}
	_, err := reserver.Open(context.Background(), st, q)
	var missing *store.Error
	if !errors.As(err, &missing) || missing.Err != store.ErrNoRow {
		t.Fatalf("Open of a missing row: %v", err)
	}
	f.Lines()
	return txtar.File{Name: "what the error of a missing row says to run", Data: []byte(missing.SQL + "\n")}
}

// TestKeyTableOptions: what no table could serve is refused before anything is
// asked.
func TestKeyTableOptions(t *testing.T) {
	table := sequence.KeyTable{Name: "keys", Key: "name", Row: "orders", Value: "v"}
	for _, c := range []struct {
		name   string
		change func(*sequence.Sequence)
		ok     bool
	}{
		{"all", func(*sequence.Sequence) {}, true},
		{"lock", func(q *sequence.Sequence) { q.Lock = "none" }, false},
		{"name", func(q *sequence.Sequence) { q.Table.Name = "a b" }, false},
		{"empty name", func(q *sequence.Sequence) { q.Table.Name = "" }, false},
		{"injection", func(q *sequence.Sequence) { q.Table.Name = "keys; DROP TABLE x" }, false},
		{"quoted", func(q *sequence.Sequence) { q.Table.Name = `app."a "" b"` }, true},
		{"open quote", func(q *sequence.Sequence) { q.Table.Name = `"a` }, false},
		{"behind a quote", func(q *sequence.Sequence) { q.Table.Name = `"a"b` }, false},
		{"ends in a dot", func(q *sequence.Sequence) { q.Table.Name = "app." }, false},
		{"comment", func(q *sequence.Sequence) { q.Table.Value = "v--" }, false},
		{"column of two parts", func(q *sequence.Sequence) { q.Table.Value = "t.v" }, false},
		{"no value", func(q *sequence.Sequence) { q.Table.Value = "" }, false},
		{"key without a row", func(q *sequence.Sequence) { q.Table.Row = "" }, false},
		{"row without a key", func(q *sequence.Sequence) { q.Table.Key = "" }, false},
		{"neither", func(q *sequence.Sequence) { q.Table.Key, q.Table.Row = "", "" }, true},
		{"version", func(q *sequence.Sequence) { q.Table.Version = "1" }, false},
		{"procedure", func(q *sequence.Sequence) { q.Procedure = "app.next_key" }, true},
		{"procedure and lock", func(q *sequence.Sequence) { q.Procedure, q.Lock = "next_key", sequence.LockOptimistic }, false},
		{"bad procedure", func(q *sequence.Sequence) { q.Procedure = "next_key()" }, false},
		{"the shipped one", func(q *sequence.Sequence) { q.Procedure = store.ReserveProcedure }, false},
		{"codec", func(q *sequence.Sequence) { q.Codec, q.Bounds.Max = shifted{}, 10 }, true},
		{"codec without Max", func(q *sequence.Sequence) { q.Codec = shifted{} }, false},
		{"codec and procedure", func(q *sequence.Sequence) { q.Codec, q.Bounds.Max, q.Procedure = shifted{}, 10, "next_key" }, false},
		{"codec without a table", func(q *sequence.Sequence) { q.Codec, q.Bounds.Max, q.Table = shifted{}, 10, nil }, false},
	} {
		q, own := fakedb.Orders, table
		q.Table = &own
		c.change(&q)
		f := &fakedb.DB{Answer: func(string) fakedb.Reply { return fakedb.Reply{Err: fakedb.ErrRefused} }}
		st := fakedb.Pooled(t, dialect.PostgreSQL(), f)
		for name, err := range map[string]error{
			"Open":    func() error { _, err := reserver.Open(context.Background(), st, q); return err }(),
			"Reserve": func() error { _, err := sequence.Reserve(context.Background(), st, q, 1, 0); return err }(),
			"Advance": sequence.Advance(context.Background(), st, q, 5),
		} {
			if errors.Is(err, keysource.ErrOptions) == c.ok {
				t.Errorf("%s: %s: %v", c.name, name, err)
			}
		}
		if log := f.Lines(); !c.ok && log != "" {
			t.Errorf("%s: it asks\n%s", c.name, log)
		}
	}
	q := fakedb.Orders
	q.Procedure = "next_key"
	if _, err := reserver.Open(context.Background(), fakedb.Pooled(t, dialect.SQLite(), &fakedb.DB{}), q); !errors.Is(err, keysource.ErrOptions) {
		t.Errorf("a procedure of SQLite: %v", err)
	}
}

// TestProcedureWithin: a function that commits is not called for a transaction of the
// application's.
func TestProcedureWithin(t *testing.T) {
	for _, d := range dialect.All() {
		if d.Name == dialect.SQLite().Name {
			continue
		}
		q := fakedb.Orders
		q.Procedure = "next_key"
		f := &fakedb.DB{Answer: keyAnswers}
		got, err := reserver.New(store.Within(d, fakedb.Strengths[2].Make(f)), q).Reserve(context.Background(), 10, 0)
		if d.Name == dialect.Oracle().Name {
			if !errors.Is(err, keysource.ErrOptions) || f.Lines() != "" {
				t.Errorf("%s: %+v, %v", d.Name, got, err)
			}
			continue
		}
		if err != nil || got.First != 42 || strings.Contains(f.Lines(), "begin") {
			t.Errorf("%s: %+v, %v", d.Name, got, err)
		}
	}
}

// TestFresh: a row for keys that are not its integers is made while there are
// none, and the error says what to make otherwise.
func TestFresh(t *testing.T) {
	for _, d := range dialect.All() {
		for _, used := range []int64{0, 1} {
			for _, create := range []bool{true, false} {
				made := false
				f := &fakedb.DB{}
				usual := fakedb.EngineAnswers(d)
				f.Answer = func(query string) fakedb.Reply {
					switch {
					case strings.Contains(query, "EXISTS (SELECT 1"):
						return fakedb.Reply{Rows: [][]driver.Value{{used}}}
					case strings.Contains(query, "INTO keyfill_sequences"):
						made = true
					case strings.Contains(query, "parameters FROM") && !made:
						return fakedb.Reply{}
					case strings.Contains(query, "parameters FROM"):
						return fakedb.Reply{Rows: [][]driver.Value{{int64(7), "made", "", "orders", "id", ""}}}
					case strings.Contains(query, "MAX("):
						t.Errorf("%s: the greatest key is asked for", d.Name)
					}
					return usual(query)
				}
				q := fakedb.Orders
				q.Fresh, q.Made.Start, q.Create = true, 7, create
				_, err := reserver.New(fakedb.Pooled(t, d, f), q).Reserve(context.Background(), 1, 0)
				log := f.Lines()
				want, start := error(nil), "7"
				switch {
				case used == 1:
					want, start = store.ErrFresh, "<next number>"
				case !create:
					want = store.ErrNoRow
				}
				var e *store.Error
				if !errors.Is(err, want) || made != (want == nil) ||
					want != nil && (!errors.As(err, &e) || !strings.Contains(e.SQL, ", "+start+", ")) {
					t.Errorf("%s, used %d, create %v: %v\n%s", d.Name, used, create, err, log)
				}
			}
		}
	}
}
