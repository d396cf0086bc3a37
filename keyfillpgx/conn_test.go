package keyfillpgx_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillpgx"
	"github.com/keyfill/keyfill/policy"
	"github.com/keyfill/keyfill/rewrite"
)

// TestWrapConn: a single connection fills, as a pool's connections do, and closes all
// that it has opened.
func TestWrapConn(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	ctx := t.Context()
	below, err := pgx.Connect(ctx, p.dsn)
	if err != nil {
		t.Fatal(err)
	}
	c, err := keyfillpgx.WrapConn(ctx, below, keyfill.Options{Policy: keyed(sequence())})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Prepare(ctx, "add", "INSERT INTO t (a) VALUES ($1)"); err != nil {
		t.Fatal(err)
	}
	exec(t, c, "add", 1)
	if err := c.Deallocate(ctx, "add"); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(ctx, "add", 1); err == nil {
		t.Error("a statement that is gone was executed")
	}
	exec(t, c, "INSERT INTO t (a) VALUES (2)")
	if n, err := c.Mount().Reserve(ctx, "t", 10); err != nil || n < 3 {
		t.Errorf("Reserve = %d, %v", n, err)
	}
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	if !below.IsClosed() || c.Close(ctx) != nil {
		t.Error("the connection is open, or is not closed twice")
	}
	if got := column(t, p.plain, "SELECT id || '.' || a FROM t ORDER BY id"); !slices.Equal(got, []string{"1.1", "2.2"}) {
		t.Errorf("stored is %v", got)
	}
}

// TestZeroKeys: what pgx's programs send where a key is not set gets one; a key that is
// set is kept, by every way.
//
//deviation:filled-inserts | An empty string and the zero UUID are filled. The plain driver stores them. | all | `INSERT INTO t (id) VALUES ('')` | `fill:` without `zero`
func TestZeroKeys(t *testing.T) {
	p := open(t, keyed(policy.Source{Kind: policy.KindUUIDv7}), "CREATE TABLE t (id UUID PRIMARY KEY, a INT)")
	ctx := t.Context()
	var none *uuid.UUID
	own := uuid.New()
	for name, arg := range map[string]any{
		"nil": nil, "nil pointer": none, "pgtype.UUID": pgtype.UUID{}, "zero": uuid.UUID{}, "array": [16]byte{}, "text": "",
	} {
		for way, run := range map[string]func() error{
			"Exec": func() error { _, err := p.filled.Exec(ctx, "INSERT INTO t (id) VALUES ($1)", arg); return err },
			"batch": func() error {
				b := &pgx.Batch{}
				b.Queue("INSERT INTO t (id) VALUES ($1)", arg)
				return p.filled.SendBatch(ctx, b).Close()
			},
			"COPY": func() error {
				_, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id"}, pgx.CopyFromRows([][]any{{arg}}))
				return err
			},
		} {
			exec(t, p.plain, "TRUNCATE t")
			err := run()
			got := column(t, p.plain, "SELECT id::text FROM t")
			if err != nil || len(got) != 1 || got[0] == uuid.Nil.String() {
				t.Errorf("%s, %s: stored is %v, error %v", name, way, got, err)
			}
		}
	}
	exec(t, p.plain, "TRUNCATE t")
	exec(t, p.filled, "INSERT INTO t (id) VALUES ($1)", own)
	if _, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"id"}, pgx.CopyFromRows([][]any{{pgtype.UUID{Bytes: uuid.Max, Valid: true}}})); err != nil {
		t.Fatal(err)
	}
	if got := column(t, p.plain, "SELECT id::text FROM t ORDER BY t.id"); !slices.Equal(got, []string{own.String(), uuid.Max.String()}) {
		t.Errorf("stored is %v, want %v and the greatest UUID", got, own)
	}
}

// TestRefused: what cannot be filled is an error before anything is sent, and the
// connection goes on.
//
//deviation:pgx | In a batch, an INSERT with several statements, or with a query whose rows are counted first, is refused. A refusal refuses the whole batch. | PostgreSQL with pgx | `INSERT INTO t (a) SELECT …` with `kind: snowflake` | send it alone
func TestRefused(t *testing.T) {
	p := open(t, keyed(policy.Source{Kind: policy.KindUUIDv7}), "CREATE TABLE t (id UUID PRIMARY KEY, a INT)")
	ctx := t.Context()
	for _, query := range []string{
		"PREPARE x AS INSERT INTO t (a) VALUES (1)",
		"INSERT INTO t (a) SELECT a, a FROM t",
	} {
		_, err := p.filled.Exec(ctx, query)
		if _, own := keyfillError(err); !own {
			t.Errorf("Exec(%q): %v, want a refusal", query, err)
		}
		rows, err := p.filled.Query(ctx, query)
		if _, own := keyfillError(err); !own || rows.Err() != err || rows.Next() {
			t.Errorf("Query(%q): %v, want a refusal", query, err)
		}
		var id any
		if _, own := keyfillError(p.filled.QueryRow(ctx, query).Scan(&id)); !own {
			t.Errorf("QueryRow(%q) is not refused", query)
		}
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES (1)")
		b.Queue(query)
		if _, own := keyfillError(p.filled.SendBatch(ctx, b).Close()); !own {
			t.Errorf("SendBatch(%q) is not refused", query)
		}
	}
	if _, err := p.filled.Exec(ctx, "INSERT INTO t (a) VALUES ($1)"); !errors.Is(err, rewrite.ErrArguments) {
		t.Errorf("without its argument: %v", err)
	}
	if got := column(t, p.plain, "SELECT id::text FROM t"); len(got) != 0 {
		t.Errorf("stored is %v, want nothing", got)
	}
}

// manyRows returns an INSERT of n rows with an argument each.
func manyRows(n int) (string, []any) {
	var text strings.Builder
	text.WriteString("INSERT INTO t (a) VALUES ($1)")
	args := []any{0}
	for i := 1; i < n; i++ {
		text.WriteString(line(", ($%d)", i+1))
		args = append(args, i)
	}
	return text.String(), args
}

// TestManyArguments: where the arguments and the keys are more than the protocol takes,
// the keys are literals, and pgx keeps no statement for the text.
func TestManyArguments(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	const rows = 40_000
	text, args := manyRows(rows)
	exec(t, p.filled, text, args...)
	returned, err := p.filled.Query(t.Context(), text+" RETURNING a", args...)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := pgx.CollectRows(returned, pgx.RowTo[int]); err != nil || len(all) != rows || all[rows-1] != rows-1 {
		t.Errorf("RETURNING gives %d rows, %v", len(all), err)
	}
	if got := column(t, p.plain, "SELECT count(DISTINCT id) || ' ' || count(*) FROM t"); got[0] != "80000 80000" {
		t.Errorf("stored are %s rows, want 80000", got[0])
	}
	if got := column(t, p.filled, "SELECT count(*)::text FROM pg_prepared_statements WHERE statement LIKE 'INSERT%'"); got[0] != "0" {
		t.Errorf("%s statements are kept", got[0])
	}
}

// TestManyArgumentsSimple: the simple protocol takes more arguments than the extended one,
// filled as well as plain.
func TestManyArgumentsSimple(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)",
		func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol })
	text, args := manyRows(70_000)
	if _, err := p.filled.Exec(t.Context(), text, args...); err != nil {
		t.Fatal(err)
	}
	if got := column(t, p.plain, "SELECT count(DISTINCT id) || ' ' || count(DISTINCT a) FROM t"); got[0] != "70000 70000" {
		t.Errorf("stored are %s rows, want 70000", got[0])
	}
}

// TestSession: names mean on each connection what its session says: a temporary table
// is not the one of the policy, and tables of one name in two schemas have a numbering each,
// where a hook of the pool chooses the schema.
//
//deviation:pgx | Settings, search path and temporary tables changed on pgx's own objects are not seen. keyfill asks again at each Acquire of a pool with `PrepareConn`, `BeforeAcquire` or `AfterRelease`. | PostgreSQL with pgx | `SET search_path` on the wrapped pool | –
func TestSession(t *testing.T) {
	tenant := "one"
	p := open(t, keyed(sequence()), "CREATE SCHEMA one; CREATE SCHEMA two; CREATE TABLE one.t (id BIGINT PRIMARY KEY, a INT); CREATE TABLE two.t (id BIGINT PRIMARY KEY, a INT)",
		func(c *pgxpool.Config) {
			c.MaxConns = 1
			c.PrepareConn = func(ctx context.Context, conn *pgx.Conn) (bool, error) {
				_, err := conn.Exec(ctx, "SET search_path = "+tenant)
				return err == nil, err
			}
		})
	for _, tenant = range []string{"one", "two", "one"} {
		exec(t, p.filled, "INSERT INTO t (a) VALUES ($1)", 1)
	}
	got := column(t, p.plain, "SELECT 'one.' || id FROM one.t UNION ALL SELECT 'two.' || id FROM two.t ORDER BY 1")
	if !slices.Equal(got, []string{"one.1", "one.2", "two.1"}) {
		t.Errorf("stored is %v", got)
	}
	if err := p.filled.AcquireFunc(t.Context(), func(c *keyfillpgx.PoolConn) error {
		exec(t, c, "CREATE TEMPORARY TABLE t (id TEXT DEFAULT 'its own', a INT)")
		exec(t, c, "INSERT INTO t (a) VALUES ($1)", 1)
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES ($1)", 2)
		if err := c.SendBatch(t.Context(), b).Close(); err != nil {
			return err
		}
		if got := column(t, c, "SELECT id FROM t"); !slices.Equal(got, []string{"its own", "its own"}) {
			t.Errorf("in the temporary table is %v", got)
		}
		exec(t, c, "DROP TABLE t")
		return nil
	}); err != nil {
		t.Fatal(err)
	}
}

// TestNamedStateOfOneSchema: a state with a name of its own numbers the table of one schema,
// unless the schema is in the name.
//
//deviation:filled-inserts | A source in place whose `name:` has no `{schema}` numbers the table of one schema. An INSERT into the table of that name in another schema is refused. | all | the policy's entry `t` matches the tables `one.t` and `two.t` | no `name:`, `{schema}` in it, or `schema.table` as the entry
func TestNamedStateOfOneSchema(t *testing.T) {
	for name, refused := range map[string]bool{"": false, "{schema}.mine": false, "mine": true} {
		source := sequence()
		source.Name = name
		p := open(t, keyed(source), "CREATE SCHEMA one; CREATE SCHEMA two; CREATE TABLE one.t (id BIGINT PRIMARY KEY, a INT); CREATE TABLE two.t (id BIGINT PRIMARY KEY, a INT)")
		exec(t, p.filled, "INSERT INTO one.t (a) VALUES (1)")
		_, err := p.filled.Exec(t.Context(), "INSERT INTO two.t (a) VALUES (1)")
		if own, is := keyfillError(err); is != refused || is && !strings.Contains(own.Error(), "[docs/errors.md#shared-state]") {
			t.Errorf("name %q: %v, want a refusal: %v", name, err, refused)
		}
	}
}

// TestCopyIntoNewTable: a transaction that has made the table reserves numbers on its own
// connection, which is not free during a COPY. A refusal stores nothing.
func TestCopyIntoNewTable(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE other (a INT)")
	ctx := t.Context()
	tx, err := p.filled.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	exec(t, tx, "INSERT INTO t (a) VALUES (1)")
	const rows = 5000
	n, err := tx.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromSlice(rows, func(i int) ([]any, error) { return []any{i}, nil }))
	if _, own := keyfillError(err); err != nil && !own || err == nil && n != rows {
		t.Fatalf("%d rows, %v", n, err)
	}
	if err == nil {
		if err := tx.Commit(ctx); err != nil {
			t.Fatal(err)
		}
		if got := column(t, p.plain, "SELECT count(DISTINCT id)::text FROM t"); got[0] != "5001" {
			t.Errorf("%s keys are stored", got[0])
		}
		return
	}
	t.Logf("refused: %v", err)
	if err := tx.Commit(ctx); !errors.Is(err, pgx.ErrTxCommitRollback) {
		t.Errorf("Commit: %v", err)
	}
}

// TestModes: with dry_run and off the text goes out as it came.
func TestModes(t *testing.T) {
	p := open(t, keyed(policy.Source{Kind: policy.KindUUIDv7}), "CREATE TABLE t (id UUID DEFAULT gen_random_uuid() PRIMARY KEY, a INT)")
	ctx := t.Context()
	for i, mode := range []policy.Mode{policy.ModeDryRun, policy.ModeOff} {
		p.filled.Mount().SetMode(mode)
		exec(t, p.filled, "INSERT INTO t (a) VALUES ($1)", 1)
		b := &pgx.Batch{}
		b.Queue("INSERT INTO t (a) VALUES ($1)", 2)
		if err := p.filled.SendBatch(ctx, b).Close(); err != nil {
			t.Errorf("mode %v: %v", mode, err)
		}
		if _, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows([][]any{{3}})); err != nil {
			t.Errorf("mode %v: %v", mode, err)
		}
		if got := len(column(t, p.plain, "SELECT id::text FROM t WHERE substr(id::text, 15, 1) = '4'")); got != 3*(i+1) {
			t.Errorf("mode %v: %d rows have a key of the engine's, want %d", mode, got, 3*(i+1))
		}
	}
	if s := p.filled.Mount().Stats().Tables["t"]; s.Keys != 0 || s.Withheld == 0 {
		t.Errorf("the statistics are %+v", s)
	}
}

// TestRecordedFailures: Record reports the outcome of the rows of statements, batches and
// copies that fail, and of rows that a conflict leaves out.
func TestRecordedFailures(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT UNIQUE)")
	exec(t, p.filled, "INSERT INTO t (a) VALUES (1)")
	for name, c := range map[string]struct {
		run  func(context.Context) error
		fail bool
		want []keyfill.Outcome
	}{
		"Exec": {func(ctx context.Context) error {
			_, err := p.filled.Exec(ctx, "INSERT INTO t (a) VALUES ($1)", 1)
			return err
		}, true, []keyfill.Outcome{keyfill.NotStored}},
		"conflict": {func(ctx context.Context) error {
			_, err := p.filled.Exec(ctx, "INSERT INTO t (a) VALUES ($1), ($2) ON CONFLICT DO NOTHING", 1, 2)
			return err
		}, false, []keyfill.Outcome{keyfill.NotStored, keyfill.Stored}},
		"batch": {func(ctx context.Context) error {
			b := &pgx.Batch{}
			b.Queue("INSERT INTO t (a) VALUES ($1) RETURNING id", 30)
			b.Queue("INSERT INTO t (a) VALUES ($1)", 1)
			r := p.filled.SendBatch(ctx, b)
			var id int
			if err := r.QueryRow().Scan(&id); err != nil {
				return errors.Join(err, r.Close())
			}
			return r.Close()
		}, true, []keyfill.Outcome{keyfill.NotStored, keyfill.NotStored}},
		"batch with a conflict": {func(ctx context.Context) error {
			b := &pgx.Batch{}
			b.Queue("INSERT INTO t (a) VALUES ($1) ON CONFLICT DO NOTHING", 1)
			b.Queue("INSERT INTO t (a) VALUES ($1)", 40)
			return p.filled.SendBatch(ctx, b).Close()
		}, false, []keyfill.Outcome{keyfill.NotStored, keyfill.Stored}},
		"COPY": {func(ctx context.Context) error {
			_, err := p.filled.CopyFrom(ctx, pgx.Identifier{"t"}, []string{"a"}, pgx.CopyFromRows([][]any{{50}, {1}}))
			return err
		}, true, []keyfill.Outcome{keyfill.NotStored, keyfill.NotStored}},
	} {
		ctx, rec := keyfill.Record(t.Context())
		if err := c.run(ctx); (err != nil) != c.fail {
			t.Errorf("%s: %v", name, err)
		}
		var got []keyfill.Outcome
		for _, k := range rec.All() {
			got = append(got, k.Outcome)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: recorded %v, want %v", name, got, c.want)
		}
	}
}
