package keyfillpgx_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/keyfill/keyfill/policy"
)

// tenants are two schemas with a table of one name, and functions whose effect no text
// shows. The keys of b are above 499.
const tenants = `CREATE SCHEMA a;
	CREATE SCHEMA b;
	CREATE TABLE a.t (id BIGINT PRIMARY KEY, x INT, y INT);
	CREATE TABLE b.t (id BIGINT PRIMARY KEY, x INT, y INT);
	INSERT INTO b.t VALUES (499, 0, 0);
	CREATE TABLE public.names (name text);
	INSERT INTO public.names VALUES ('b');
	CREATE FUNCTION public.use_tenant(name text) RETURNS int LANGUAGE plpgsql AS
		$$ BEGIN PERFORM set_config('search_path', name || ',public', false); RETURN 1; END $$;
	CREATE FUNCTION public.make_temporary() RETURNS int LANGUAGE plpgsql AS
		$$ BEGIN CREATE TEMP TABLE t (id BIGSERIAL PRIMARY KEY, x INT, y INT); RETURN 1; END $$;
	CREATE FUNCTION public.named() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		CASE NEW.name WHEN 'move' THEN PERFORM use_tenant('b'); WHEN 'make' THEN PERFORM make_temporary(); ELSE END CASE;
		RETURN NEW; END $$;
	CREATE TRIGGER named BEFORE INSERT ON public.names FOR EACH ROW EXECUTE FUNCTION public.named()`

// inTenantA opens every session of a database in schema a, on one connection.
func inTenantA(c *pgxpool.Config) {
	c.ConnConfig.RuntimeParams["search_path"] = "a, public"
	c.MaxConns = 1
}

// queue returns a batch of texts without arguments.
func queue(texts ...string) *pgx.Batch {
	b := &pgx.Batch{}
	for _, text := range texts {
		b.Queue(text)
	}
	return b
}

// storedIn returns the rows of both schemas, and of a temporary table on the
// connection that fills.
func storedIn(t *testing.T, p *place) string {
	t.Helper()
	var all []string
	for _, schema := range []string{"a", "b"} {
		rows := column(t, p.plain, "SELECT concat_ws(',', id, x, y) FROM "+schema+".t WHERE id <> 499 ORDER BY id")
		all = append(all, schema+": "+strings.Join(rows, " "))
	}
	if column(t, p.filled, "SELECT coalesce(to_regclass('pg_temp.t')::text, '')")[0] != "" {
		rows := column(t, p.filled, "SELECT concat_ws(',', id, x, y) FROM pg_temp.t ORDER BY id")
		all = append(all, "temporary: "+strings.Join(rows, " "))
	}
	return strings.Join(all, "; ")
}

// TestBatchMoves: the texts of a batch are sent before the first of them has run. An
// INSERT of a batch is stored as pgx alone stores it, with a key of the table that it
// reaches, or nothing of the batch is; and so is the INSERT after the batch.
//
//deviation:filled-inserts | In a batch an INSERT is refused if an earlier text may change the settings, a temporary table of the INSERT's table name, or the columns of an INSERT without a column list. | PostgreSQL with `keyfillpgx` | `ALTER TABLE t …` and `INSERT INTO t VALUES (…)` in one batch | a column list; send the texts one by one
func TestBatchMoves(t *testing.T) {
	t.Parallel()
	const insert = "INSERT INTO t (x, y) VALUES (8, 9)"
	for name, c := range map[string]struct {
		texts []string
		want  string // after the batch
		next  string // after one more INSERT; n is the second number of a sequence
	}{
		"columns moved": {
			[]string{"ALTER TABLE t DROP COLUMN x", "ALTER TABLE t ADD COLUMN x int", "INSERT INTO t VALUES (DEFAULT, 8, 9)"},
			"refused a: ; b: ", "a: 1,8,9; b: ",
		},
		"columns listed": {
			[]string{"ALTER TABLE t DROP COLUMN x", "ALTER TABLE t ADD COLUMN x int", insert},
			"a: 1,8,9; b: ", "a: 1,8,9 2,8,9; b: ",
		},
		"path":           {[]string{"SET search_path = b, public", insert}, "a: ; b: 500,8,9", "a: ; b: 500,8,9 501,8,9"},
		"path in quotes": {[]string{`SET SESSION search_path TO "b", 'public'`, insert}, "a: ; b: 500,8,9", "a: ; b: 500,8,9 501,8,9"},
		"path and back":  {[]string{"SET search_path = b, public", insert, "SET search_path = a, public", insert}, "a: 1,8,9; b: 500,8,9", "a: 1,8,9 2,8,9; b: 500,8,9"},
		"path behind":    {[]string{insert, "SET search_path = b, public"}, "a: 1,8,9; b: ", "a: 1,8,9; b: 500,8,9"},
		"path of a transaction": {
			[]string{"BEGIN", "SET LOCAL search_path = b, public", insert, "COMMIT"},
			"a: ; b: 500,8,9", "a: 1,8,9; b: 500,8,9",
		},
		"function":                {[]string{"SELECT use_tenant('b')", insert}, "refused a: ; b: ", "a: n,8,9; b: "},
		"function behind AS":      {[]string{"SELECT 1 AS ok FROM use_tenant('b')", insert}, "refused a: ; b: ", "a: n,8,9; b: "},
		"function behind INTO":    {[]string{"INSERT INTO names SELECT set_config('search_path', 'b,public', false)", insert}, "refused a: ; b: ", "a: n,8,9; b: "},
		"function of an alias":    {[]string{"SELECT n.name AS n FROM names AS n WHERE set_config('search_path', n.name || ',public', false) <> ''", insert}, "refused a: ; b: ", "a: n,8,9; b: "},
		"block":                   {[]string{"DO $$ BEGIN PERFORM use_tenant('b'); END $$", insert}, "refused a: ; b: ", "a: n,8,9; b: "},
		"block that does nothing": {[]string{"DO $$ BEGIN END $$", insert}, "a: 1,8,9; b: ", "a: 1,8,9 2,8,9; b: "},
		"temporary table":         {[]string{"CREATE TEMP TABLE t (id BIGSERIAL, x INT, y INT)", insert}, "a: ; b: ; temporary: 1,8,9", "a: ; b: ; temporary: 1,8,9 2,8,9"},
		"temporary by a function": {[]string{"SELECT make_temporary()", insert}, "refused a: ; b: ", "a: n,8,9; b: "},
		"temporary dropped": {
			[]string{"CREATE TEMP TABLE t (id BIGSERIAL, x INT, y INT)", "DROP TABLE t", insert},
			"a: 1,8,9; b: ", "a: 1,8,9 2,8,9; b: ",
		},
		"earlier in the path": {[]string{"CREATE TABLE a.new (id BIGINT)", insert}, "a: 1,8,9; b: ", "a: 1,8,9 2,8,9; b: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind, source := range map[string]policy.Source{"sequence": sequence(), "joined": joined()} {
				p := open(t, keyed(source), tenants, inTenantA)
				if kind == "joined" && c.texts[0] == "BEGIN" {
					continue // it has to be begun before the batch
				}
				in := handle(p.filled)
				var tx pgx.Tx
				if kind == "joined" {
					var err error
					if tx, err = p.filled.Begin(t.Context()); err != nil {
						t.Fatal(err)
					}
					in = tx
				}
				err := in.SendBatch(t.Context(), queue(c.texts...)).Close()
				if tx != nil {
					if err == nil {
						err = tx.Commit(t.Context())
					} else {
						_ = tx.Rollback(t.Context())
					}
				}
				got := storedIn(t, p)
				if err != nil {
					got = "refused " + got
					if refused := name == "columns moved" || name == "block" && kind == "joined"; !refused && !strings.Contains(err.Error(), "#name-moved") {
						t.Errorf("%s: the error is %v", kind, err)
					}
				}
				if got != c.want {
					t.Errorf("%s: behind the batch %q, want %q (%v)", kind, got, c.want, err)
				}
				exec(t, p.filled, insert)
				number := map[string]string{"sequence": "2", "joined": "1"}[kind]
				if got, want := storedIn(t, p), strings.Replace(c.next, "n", number, 1); got != want {
					t.Errorf("%s: behind one more INSERT %q, want %q", kind, got, want)
				}
			}
		})
	}
}

// TestCopyMoves: COPY has no place for a proof. After a text that may have moved the
// session it is asked which table the name means.
func TestCopyMoves(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"path":            {"SET search_path = b, public", "a: ; b: 500,8,9"},
		"function":        {"SELECT 1 AS ok FROM use_tenant('b')", "a: ; b: 500,8,9"},
		"trigger":         {"INSERT INTO names VALUES ('move')", "a: ; b: 500,8,9"},
		"temporary table": {"SELECT make_temporary()", "a: ; b: ; temporary: 1,8,9"},
		"by a trigger":    {"INSERT INTO names VALUES ('make')", "a: ; b: ; temporary: 1,8,9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := open(t, keyed(sequence()), tenants, inTenantA)
			exec(t, p.filled, "SET search_path = a, public") // after which names are proven
			exec(t, p.filled, c.text)
			if _, err := p.filled.CopyFrom(t.Context(), pgx.Identifier{"t"}, []string{"x", "y"}, pgx.CopyFromRows([][]any{{8, 9}})); err != nil {
				t.Error(err)
			}
			if got := storedIn(t, p); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
