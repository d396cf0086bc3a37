package statements_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// The tests below compare what [policy.Guarantees] declares, from which the
// table of docs/guarantees.md is made, with keys that real engines have stored. They run one
// statement at a time; what holds with many at once is shown by the tests of
// faults.

// made is a key that was made in the tests of guarantees.
type made struct {
	key       string
	process   int
	statement int // in the order in which they ran
	parent    int64
	stored    bool
	rank      int // in the engine's order of the stored keys
	at        time.Time
}

// number returns the integer that is the key, or that ends its text.
func (m made) number(t *testing.T) int64 {
	t.Helper()
	n, err := strconv.ParseInt(m.key[strings.LastIndexByte(m.key, '-')+1:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// keyColumn is a column for the keys of a source, as docs say.
func keyColumn(e harness.Engine, s policy.Source) string {
	if s.Format != "" {
		return "VARCHAR(20)"
	}
	switch s.Kind {
	case policy.KindUUIDv7, policy.KindUUIDv4, policy.KindUUIDv5, policy.KindCOMB:
		if s.Prefix != "" {
			return fmt.Sprintf("VARCHAR(%d)", len(s.Prefix)+27)
		}
		if e.IsPostgres() {
			return "UUID"
		}
		return "CHAR(36)"
	case policy.KindULID:
		return "CHAR(26)"
	case policy.KindComposite:
		return "CHAR(20)"
	case policy.KindCoprime:
		return fmt.Sprintf("VARCHAR(%d)", s.Length)
	case policy.KindNative:
		if s.Block == 0 {
			return e.Drawing("numbers")
		}
	}
	return "BIGINT"
}

// process opens the database as a process of its own does.
func process(t *testing.T, s *harness.Scratch, source policy.Source) *sql.DB {
	t.Helper()
	if source.WorkerEnv != "" {
		source.WorkerEnv, source.Worker = "", harness.NewWorker()
	}
	switch {
	case source.Kind == policy.KindMaxPlusOne && source.Lock == "",
		slices.Contains([]string{policy.KindSequence, policy.KindPseudorandom, policy.KindScatter, policy.KindCoprime, policy.KindRecycled}, source.Kind),
		s.Server != nil && source.Store == "" && (source.Kind == policy.KindSnowflake || source.Kind == policy.KindComposite):
		source.EnsureSchema = true
	case source.Kind == policy.KindNative:
		source.Sequence = "numbers"
	}
	db, _ := s.Open(t, harness.KeyKind{Source: source}.Config(s.Engine))
	return db
}

// TestGuarantees: the keys of each method on each engine are what the
// table says. Two processes take turns, and a third of their transactions is
// rolled back.
//
//deviation:integer-keys | Numbers are reserved in blocks: there are gaps, and the rows of several processes are not in the order of their keys. A reader of `id > last` passes over rows: [sources.md](sources.md#readers-by-key). | all | a process that ends leaves what is left of its block | `block: 1`, which waits for the store at each statement
func TestGuarantees(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, []harness.Engine{harness.SQLiteFile, harness.MySQLDefault, harness.PgxDefault, harness.PQDefault}) {
		for _, source := range policy.Methods() {
			g, ok := policy.Guarantees(source, e.Dialect)
			if !ok {
				continue // the engine does not have it, or makes the keys itself
			}
			t.Run(e.Name+"/"+methodName(source), func(t *testing.T) {
				t.Parallel()
				s := e.Scratch(t)
				if source.Kind == policy.KindUUIDv5 {
					source.From = &policy.Scope{{Column: "order_id"}, {Column: "a"}} // columns of t
				}
				if source.Kind == policy.KindNative {
					harness.Exec(t, s.Raw, fmt.Sprintf("CREATE SEQUENCE numbers INCREMENT BY %d", max(source.Block, 1)))
				}
				key := "id"
				if source.Scope != nil {
					key = "order_id, id"
				}
				harness.Exec(t, s.Raw, fmt.Sprintf("CREATE TABLE t (id %s NOT NULL, a INT NOT NULL, order_id BIGINT NOT NULL, PRIMARY KEY (%s))", keyColumn(e, source), key))
				keys := makeKeys(t, s, source)
				wantUnique(t, s, source, g, keys)
				wantOrdered(t, g, keys)
				wantShape(t, g, keys)
				wantLength(t, g, keys, keyColumn(e, source))
			})
		}
	}
}

// methodName returns a name that distinguishes the methods of a kind.
func methodName(s policy.Source) string {
	name := s.Kind
	for word, there := range map[string]bool{
		"-block=" + fmt.Sprint(s.Block): s.Block > 0, "-procedure": s.Via != "", "-joined": s.Transaction != "",
		"-scope": s.Scope != nil, "-unlocked": s.Lock != "", "-spread": s.Spread != "", "-storeless": s.Store != "", "-leased": s.WorkerLease != 0,
		"-format=" + s.Format: s.Format != "", "-prefix=" + s.Prefix: s.Prefix != "", "-period": s.Period.Every != "",
	} {
		if there {
			name += word
		}
	}
	return name
}

// makeKeys runs statements of 1 to 7 rows in two processes and returns the keys
// that they made, in their order.
func makeKeys(t *testing.T, s *harness.Scratch, source policy.Source) []made {
	t.Helper()
	const statements = 90
	var (
		all   []made
		row   = 0
		r     = rand.New(rand.NewPCG(1, 2))
		procs = []*sql.DB{process(t, s, source), process(t, s, source)}
	)
	for i := range statements {
		var (
			query strings.Builder
			n     = 1 + r.IntN(7)
			p     = r.IntN(2)
			first = len(all)
			in    = r.IntN(3) // no transaction, one that commits, one that does not
		)
		fmt.Fprintf(&query, "INSERT INTO t (a, order_id) VALUES ")
		for j := range n {
			parent := int64(1 + r.IntN(3))
			if source.Scope == nil {
				parent = 0
			}
			fmt.Fprintf(&query, "%s(%d, %d)", strings.Repeat(", ", min(j, 1)), row, parent)
			all = append(all, made{process: p, statement: i, parent: parent, stored: in < 2, at: time.Now()})
			row++
		}
		ctx, rec := keyfill.Record(keyfill.WithValue(context.Background(), "user", fmt.Sprint(7+p)))
		insertIn(t, s, ctx, procs[p], query.String(), in)
		keys := rec.Keys("t")
		if len(keys) != n {
			t.Fatalf("%s: %d keys are recorded", query.String(), len(keys))
		}
		for j, key := range keys {
			all[first+j].key = fmt.Sprint(key.Key)
		}
		time.Sleep(2 * time.Millisecond) // for those that have the time in them
	}
	rank(t, s, all)
	return all
}

// insertIn runs an INSERT outside of a transaction, in one, or in one that is
// rolled back.
func insertIn(t *testing.T, s *harness.Scratch, ctx context.Context, db *sql.DB, query string, in int) {
	t.Helper()
	if in == 0 {
		if _, err := db.ExecContext(ctx, query); err != nil {
			t.Fatal(err)
		}
		return
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err = tx.ExecContext(ctx, query); err != nil {
		t.Fatal(err)
	}
	end := tx.Commit
	if in == 2 {
		end = tx.Rollback
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
}

// rank asks the engine which keys are stored, and how it orders them.
func rank(t *testing.T, s *harness.Scratch, all []made) {
	t.Helper()
	rank := map[string]int{}
	for i, row := range harness.KeysOf(t, s.Raw, context.Background(), "SELECT a FROM t ORDER BY id, order_id") {
		rank[row] = i + 1
	}
	stored := map[string]string{}
	rows := harness.KeysOf(t, s.Raw, context.Background(), "SELECT a FROM t ORDER BY a")
	for i, id := range harness.KeysOf(t, s.Raw, context.Background(), "SELECT id FROM t ORDER BY a") {
		stored[rows[i]] = id
	}
	count := 0
	for i := range all {
		row := fmt.Sprint(i)
		all[i].rank = rank[row]
		if all[i].stored != (rank[row] > 0) || all[i].stored && stored[row] != all[i].key {
			t.Fatalf("row %d with the key %s, stored: %v, is at %d with %s", i, all[i].key, all[i].stored, rank[row], stored[row])
		}
		if all[i].stored {
			count++
		}
	}
	if count < len(all)/3 || count == len(all) {
		t.Fatalf("%d of %d rows are stored", count, len(all))
	}
}

// wantUnique checks by what no key is made twice. What a transaction has made that
// was rolled back comes again where the state was rolled back with it.
func wantUnique(t *testing.T, s *harness.Scratch, source policy.Source, g policy.Guarantee, keys []made) {
	t.Helper()
	with := source.Transaction != "" || source.Scope != nil || source.Kind == policy.KindMaxPlusOne ||
		s.Server == nil && !slices.Contains([]string{policy.KindUUIDv7, policy.KindUUIDv4, policy.KindULID, policy.KindCOMB, policy.KindSnowflake, policy.KindComposite}, source.Kind)
	seen, bare := map[string]bool{}, map[string]int{}
	for _, k := range keys {
		if with && !k.stored {
			continue
		}
		scoped := fmt.Sprintf("%d/%s", k.parent, k.key)
		if seen[scoped] {
			t.Errorf("%s is made twice", scoped)
		}
		seen[scoped] = true
		bare[k.key]++
	}
	if scoped := len(bare) < len(seen); scoped != (g.Unique == policy.UniqueInScope) {
		t.Errorf("%d keys of %d are different: %s", len(bare), len(seen), g.Unique)
	}
	if g.Unique != policy.NotUnique {
		return
	}
	top := harness.KeysOf(t, s.Raw, context.Background(), "SELECT id FROM t ORDER BY id DESC LIMIT 1")
	a := "-1"
	if source.Kind == policy.KindUUIDv5 {
		a = harness.Text(t, s.Raw, "SELECT a FROM t WHERE id = '"+top[0]+"'") // the same values
	}
	harness.Exec(t, s.Raw, "DELETE FROM t WHERE id = '"+top[0]+"'")
	harness.Exec(t, process(t, s, source), "INSERT INTO t (a, order_id) VALUES ("+a+", 0)")
	if again := harness.KeysOf(t, s.Raw, context.Background(), "SELECT id FROM t WHERE a = "+a); !slices.Equal(again, top) {
		t.Errorf("%v follows %v, which was deleted, and is said to come again", again, top)
	}
}

// wantOrdered checks which stored keys ascend, by the engine's order.
func wantOrdered(t *testing.T, g policy.Guarantee, keys []made) {
	t.Helper()
	comparable := map[policy.Order]func(a, b made) bool{
		policy.NotOrdered:           func(a, b made) bool { return true },
		policy.OrderedByMillisecond: func(a, b made) bool { return a.process == b.process && b.at.Sub(a.at) >= 2*time.Millisecond },
		policy.OrderedInSeries: func(a, b made) bool {
			return (a.number(t)-1)/1_000_000 == (b.number(t)-1)/1_000_000
		},
		policy.OrderedInSpread:  func(a, b made) bool { return a.key[:3] == b.key[:3] },
		policy.OrderedInProcess: func(a, b made) bool { return a.process == b.process },
		policy.OrderedInPeriod:  func(a, b made) bool { return a.key[:len("INV-2026")] == b.key[:len("INV-2026")] },
		policy.OrderedInScope:   func(a, b made) bool { return a.parent == b.parent },
		policy.Ordered:          func(a, b made) bool { return true },
	}[g.Ordered]
	compared, wrong := 0, 0
	for i, a := range keys {
		for _, b := range keys[i+1:] {
			if !a.stored || !b.stored || !comparable(a, b) {
				continue
			}
			compared++
			if a.rank >= b.rank {
				wrong++
			}
		}
	}
	if compared < 1_000 {
		t.Errorf("only %d pairs are compared", compared)
	}
	if g.Ordered == policy.NotOrdered && wrong == 0 || g.Ordered != policy.NotOrdered && wrong > 0 {
		t.Errorf("%d of %d pairs are out of order; ordered: %s", wrong, compared, g.Ordered)
	}
}

// wantShape checks what the keys of one statement are to each other, what is left
// out, and whether all bits of a key are drawn.
func wantShape(t *testing.T, g policy.Guarantee, keys []made) {
	t.Helper()
	for i, k := range keys {
		if !g.Contiguous {
			break
		}
		before := slices.IndexFunc(keys[:i], func(b made) bool { return b.statement == k.statement && b.parent == k.parent })
		if before < 0 {
			continue
		}
		n := int64(0)
		for _, b := range keys[before:i] {
			if b.parent == k.parent {
				n++
			}
		}
		if first := keys[before].number(t); k.number(t) != first+n {
			t.Errorf("%s is %d after %d", k.key, n, first)
		}
	}
	if g.GapFree {
		wantNoGap(t, keys)
	}
	if drawn := drawnBits(keys); g.Unguessable && drawn < 122 {
		t.Errorf("only %d bits are drawn", drawn)
	}
}

// wantLength checks how many bytes a key has.
func wantLength(t *testing.T, g policy.Guarantee, keys []made, column string) {
	t.Helper()
	for _, k := range keys {
		bytes := 8
		if strings.Contains(column, "CHAR") || column == "UUID" {
			bytes = len(k.key)
		}
		if (bytes <= 8) != g.Short {
			t.Fatalf("%s has %d bytes; short: %v", k.key, bytes, g.Short)
		}
	}
}

// wantNoGap checks that the stored keys of each parent are 1 to N.
func wantNoGap(t *testing.T, keys []made) {
	t.Helper()
	last, count := map[string]int64{}, map[string]int64{}
	for _, k := range keys {
		if k.stored {
			numbering := fmt.Sprint(k.parent, k.key[:max(strings.LastIndexByte(k.key, '-'), 0)])
			last[numbering] = max(last[numbering], k.number(t))
			count[numbering]++
		}
	}
	for parent, n := range count {
		if last[parent] != n {
			t.Errorf("%d keys, the last one is %d", n, last[parent])
		}
	}
}

// drawnBits returns how many bits of UUIDs are set in a fair share of them.
func drawnBits(keys []made) int {
	var set [128]int
	for _, k := range keys {
		digits := strings.ReplaceAll(k.key, "-", "")
		for i, digit := range digits[:min(len(digits), 32)] {
			n, _ := strconv.ParseInt(string(digit), 16, 8)
			for bit := range 4 {
				set[4*i+bit] += int(n >> bit & 1)
			}
		}
	}
	drawn := 0
	for _, n := range set {
		if n > len(keys)/4 && n < len(keys)*3/4 {
			drawn++
		}
	}
	return drawn
}
