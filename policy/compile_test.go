package policy_test

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// fullConfig returns a configuration that uses every field.
func fullConfig() *policy.Config {
	return &policy.Config{
		Version:       1,
		Dialect:       "mysql",
		DefaultSchema: "Shop",
		Mode:          policy.ModeDryRun,
		Unsupported:   policy.Unfilled,
		Fill:          policy.FillMissing | policy.FillNull,
		Stores:        map[string]policy.Store{"central": {Driver: "pgx", DSNEnv: "CENTRAL_DSN"}},
		Sources: map[string]policy.Source{
			"s": {Kind: "comb"},
			"n": {Kind: "sequence", Store: "central", Create: new(true), Name: "n-{table}"},
			"f": {Kind: "snowflake", Worker: new(7), Bits: 53, Epoch: "2024-01-01"},
			"t": {Kind: "sequence", Table: &policy.KeyTable{Name: "keys", Key: "k", Value: "v", Stored: policy.StoredLast}},
			"p": {Kind: "sequence", Scope: &policy.Scope{{Column: "Parent"}}},
		},
		Tables: map[string]policy.Table{
			"Orders": {
				Column: "ID", InPlace: &policy.Source{Kind: "comb"}, Layout: dialect.SequentialAsBinary,
				Keys:    []policy.Key{{Column: "Tag", Source: "ulid", Fill: policy.FillZero}},
				Columns: []string{"ID", "Tag", "Name"}, Fill: policy.FillNull,
				Mode: policy.ModeOff, Unsupported: policy.Refuse,
			},
			"Log_*":   {Column: "ID", Source: "s"},
			"Lines":   {Column: "ID", Source: "n", MaxBits: 31, LastInsertID: policy.LastInsertIDResult},
			"Notes":   {Column: "ID", Source: "t", Keys: []policy.Key{{Column: "No", Source: "p"}}},
			"Event_*": {Keys: []policy.Key{{Column: "ID", Source: "f", MaxBits: 53, LastInsertID: policy.LastInsertIDOff}}},
		},
	}
}

func TestCompileDoesNotChangeConfig(t *testing.T) {
	cfg, want := fullConfig(), fullConfig()
	p, err := cfg.Compile(dialect.MySQL())
	if err != nil {
		t.Fatal(err)
	}
	p.Match("", "log_1")
	if !reflect.DeepEqual(cfg, want) {
		t.Errorf("Compile made of the configuration\n%+v, want\n%+v", cfg, want)
	}
}

func TestCompileCopies(t *testing.T) {
	cfg := fullConfig()
	p, err := cfg.Compile(dialect.MySQL())
	if err != nil {
		t.Fatal(err)
	}
	want := policy.Dump(p)
	orders := cfg.Tables["Orders"]
	orders.InPlace.Kind = "uuidv4"
	orders.Keys[0].Column = "x"
	orders.Columns[0] = "x"
	cfg.Sources["s"] = policy.Source{Kind: "ulid"}
	*cfg.Sources["n"].Create = false
	*cfg.Sources["f"].Worker = 8
	cfg.Sources["t"].Table.Value = "x"
	(*cfg.Sources["p"].Scope)[0].Column = "x"
	cfg.Stores["central"] = policy.Store{}
	clear(cfg.Tables)
	if got := policy.Dump(p); got != want {
		t.Errorf("after a change of the configuration the policy is\n%s, want\n%s", got, want)
	}
}

// TestCompileGo has what a file cannot say, or what its reader refuses first.
func TestCompileGo(t *testing.T) {
	one := func(table policy.Table) policy.Config {
		return policy.Config{Tables: map[string]policy.Table{"orders": table}}
	}
	names := dialect.Names()
	last := strings.LastIndexByte(names, ',')
	tests := []struct {
		name string
		cfg  policy.Config
		want string // "" is no error
	}{
		{"zero", policy.Config{}, ``},
		{"smallest", one(policy.Table{Column: "id"}), ``},
		{"version 2", policy.Config{Version: 2, Tables: one(policy.Table{Column: "id"}).Tables},
			`policy: version: there is no version 2; write version: 1`},
		{"dialect", policy.Config{Dialect: "db2", Tables: one(policy.Table{Column: "id"}).Tables},
			`policy: unknown dialect "db2"; there are ` + names[:last] + " and" + names[last+1:]},
		{"zero table", one(policy.Table{}), `policy: table "orders": the table has neither column nor keys; name the key column in column`},
		{"key without column", one(policy.Table{Keys: []policy.Key{{}}}), `policy: table "orders": key 1: column is missing`},
		{"mode", one(policy.Table{Column: "id", Mode: 9}), `policy: table "orders": unknown mode 9`},
		{"unsupported", one(policy.Table{Column: "id", Unsupported: "x"}),
			`policy: table "orders": unknown word for unsupported: "x"; there are refuse and unfilled`},
		{"fill", one(policy.Table{Column: "id", Fill: 17}), `policy: table "orders": fill: unknown bits 0x10; use the constants of package policy`},
		{"fill of a key", one(policy.Table{Keys: []policy.Key{{Column: "id", Fill: 32}}}),
			`policy: table "orders": key 1: fill: unknown bits 0x20; use the constants of package policy`},
		{"layout", one(policy.Table{Column: "id", Layout: "x"}),
			`policy: table "orders": unknown layout "x"; there are string, binary, sequential_at_end and swapped`},
		{"two sources", one(policy.Table{Column: "id", Source: "ulid", InPlace: &policy.Source{Kind: "ulid"}}),
			`policy: table "orders": source: the table has both the name of a source and a source in place; keep one`},
		{"source without kind", one(policy.Table{Column: "id", InPlace: &policy.Source{}}),
			`policy: table "orders": source: kind is missing; there are uuidv7, uuidv4, uuidv5, ulid, comb, sequence, native, maxplusone, pseudorandom, scatter, coprime, composite, recycled, snowflake and identity`},
		{"kind", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "x"}}),
			`policy: table "orders": source: unknown kind "x"; there are uuidv7, uuidv4, uuidv5, ulid, comb, sequence, native, maxplusone, pseudorandom, scatter, coprime, composite, recycled, snowflake and identity`},
		{"epoch", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "comb", Epoch: "x"}}),
			`policy: table "orders": source: unknown epoch "x"; there are dotnet and unix`},
		{"named source", policy.Config{
			Sources: map[string]policy.Source{"s": {Kind: "x"}, "": {Kind: "ulid"}},
			Tables:  one(policy.Table{Column: "id", Source: "s"}).Tables,
		}, `policy: source "": a source's name is of ASCII letters, digits, _ and -
policy: source "s": unknown kind "x"; there are uuidv7, uuidv4, uuidv5, ulid, comb, sequence, native, maxplusone, pseudorandom, scatter, coprime, composite, recycled, snowflake and identity`},
		{"negative numbers", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "sequence", Block: -1, Start: -7}}),
			`policy: table "orders": source.block: -1 is less than 1
policy: table "orders": source.start: -7 is less than 1`},
		{"remedy", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "sequence", OnBehind: "x", OnStoreRollback: "warn"}}),
			`policy: table "orders": source: unknown word for on_behind: "x"; there are error, advance and warn
policy: table "orders": source.on_store_rollback: a sequence that went on from there would give keys twice; say error or advance`},
		{"field of another kind", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "ulid", Worker: new(0), Create: new(false)}}),
			`policy: table "orders": source.create: ulid has none; leave it out, as it belongs to sequence, pseudorandom, scatter, coprime and recycled
policy: table "orders": source.worker: ulid has none; leave it out, as it belongs to composite and snowflake`},
		{"worker", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "snowflake", Worker: new(-1)}}),
			`policy: table "orders": source: worker: -1 is not from 0 to 1023`},
		{"bits", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "snowflake", Worker: new(1), Bits: 7}}),
			`policy: table "orders": source: bits cannot be 7; write 53 or 63`},
		{"bits of time alone", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "snowflake", Worker: new(0), TimeBits: 45}}), ``},
		{"bits of worker alone", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "snowflake", Worker: new(0), WorkerBits: 5}}),
			`policy: table "orders": source.worker_bits: say time_bits and sequence_bits too`},
		{"unit", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "snowflake", Worker: new(0), TimeBits: 45, Unit: time.Microsecond}}),
			`policy: table "orders": source: bits: the unit of time is 1µs; give whole milliseconds up to a second`},
		{"max_bits", one(policy.Table{Column: "id", Source: "sequence", MaxBits: -1}),
			`policy: table "orders": max_bits cannot be -1; write 31, 53 or 63`},
		{"last_insert_id", one(policy.Table{Column: "id", Source: "sequence", LastInsertID: "x"}),
			`policy: table "orders": unknown word for last_insert_id: "x"; there are session, result and off`},
		{"zero store", policy.Config{Stores: map[string]policy.Store{"": {}}, Tables: one(policy.Table{Column: "id"}).Tables},
			`policy: store "": a store's name is of ASCII letters, digits, _ and -
policy: store "": driver is missing
policy: store "": neither dsn_env nor dsn, nor endpoints_env or endpoints: where is the store?`},
		{"unknown store", one(policy.Table{Column: "id", InPlace: &policy.Source{Kind: "sequence", Store: "central"}}),
			`policy: table "orders": source: unknown store "central"; describe it under stores:`},
		{"same table", policy.Config{Tables: map[string]policy.Table{"A": {Column: "id"}, "a": {Column: "id"}}},
			`policy: table "a": the same table as "A"; leave one of the two`},
		{"several", policy.Config{Tables: map[string]policy.Table{"b": {}, "a": {}}},
			`policy: table "a": the table has neither column nor keys; name the key column in column
policy: table "b": the table has neither column nor keys; name the key column in column`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if _, err := tt.cfg.Compile(dialect.PostgreSQL()); err != nil {
				got = plain(err)
			}
			if got != tt.want {
				t.Errorf("Compile fails with\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestCompileDialect(t *testing.T) {
	tables := map[string]policy.Table{"orders": {Column: "id"}}
	tests := []struct {
		name    string
		config  string
		dialect *dialect.Dialect
		want    string // the layout of orders, or the error
	}{
		{"the configuration's", "oracle", nil, "binary"},
		{"both the same", "sqlserver", dialect.SQLServer(), "sequential_at_end"},
		{"the driver's", "", dialect.SQLite(), "string"},
		{"none", "", nil, "policy: dialect: the dialect is not known; there are " + dialect.Names()},
		{"different", "mysql", dialect.MariaDB(), `policy: dialect: "mysql" is configured, but the database is MariaDB; leave it out`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cfg := &policy.Config{Dialect: tt.config, Tables: tables}
			p, err := cfg.Compile(tt.dialect)
			got := plain(err)
			if err == nil {
				table := "orders"
				if tt.config == "oracle" {
					table = "ORDERS"
				}
				got = string(p.Match("", table).Keys[0].Layout)
			}
			if got != tt.want {
				t.Errorf("Compile gives %s, want %s", got, tt.want)
			}
		})
	}
	if _, err := (*policy.Config)(nil).Compile(dialect.MySQL()); err == nil {
		t.Error("Compile of a nil *Config succeeds")
	}
}

// TestCompilePositions changes a configuration that was read from a file.
func TestCompilePositions(t *testing.T) {
	cfg, err := policy.Parse([]byte("version: 1\ntables:\n  orders: {column: id}\n"))
	if err != nil {
		t.Fatal(err)
	}
	cfg.Tables["orders"] = policy.Table{Column: "order id"}
	cfg.Tables["lines"] = policy.Table{Column: "line id"}
	_, err = cfg.Compile(dialect.PostgreSQL())
	const want = `policy: table "lines": column: " " is only read inside quotes: write '"line id"'
policy: line 3, column 20: table "orders": column: " " is only read inside quotes: write '"order id"'`
	if err == nil || plain(err) != want {
		t.Errorf("Compile fails with\n%v\nwant\n%s", err, want)
	}
	var first *policy.Error
	if !errors.As(err, &first) || first.Table != "lines" || first.Line != 0 {
		t.Errorf("errors.As finds %+v, want the error about lines", first)
	}
}

func TestCompileAndMatchConcurrently(t *testing.T) {
	cfg := fullConfig()
	p, err := cfg.Compile(dialect.MySQL())
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, err := cfg.Compile(dialect.MySQL()); err != nil {
				t.Error(err)
			}
			for i := range 100 {
				if p.Match("", fmt.Sprintf("log_%d", i)) == nil || p.Match("", "orders") == nil {
					t.Error("Match = nil")
				}
			}
		})
	}
	wg.Wait()
}

func TestModes(t *testing.T) {
	modes := []policy.Mode{policy.ModeFill, policy.ModeDryRun, policy.ModeOff}
	for i, m := range modes {
		got, err := policy.ParseMode(m.String())
		if err != nil || got != m {
			t.Errorf("ParseMode(%q) = %v, %v", m.String(), got, err)
		}
		for j, n := range modes {
			if got := policy.MoreCautious(m, n); got != modes[max(i, j)] {
				t.Errorf("MoreCautious(%v, %v) = %v, want %v", m, n, got, modes[max(i, j)])
			}
		}
	}
	_, err := policy.ParseMode("")
	if want := `policy: unknown mode ""; there are fill, dry_run and off`; err == nil || plain(err) != want {
		t.Errorf("ParseMode(%q) fails with %v, want %s", "", err, want)
	}
	if got := policy.Mode(7).String(); got != "unknown" {
		t.Errorf("Mode(7).String() = %q, want unknown", got)
	}
}

// TestSourceNewOfRules draws a key in the layout of each rule, so that no
// layout is let through that a source does not have.
func TestSourceNewOfRules(t *testing.T) {
	for _, d := range dialect.All() {
		cfg := &policy.Config{Tables: make(map[string]policy.Table)}
		for _, kind := range []string{"uuidv7", "uuidv4", "ulid", "comb"} {
			for i, l := range []dialect.Layout{"", dialect.SequentialAsString, dialect.SequentialAsBinary, dialect.SequentialAtEnd} {
				if kind != "ulid" || l != dialect.SequentialAtEnd {
					cfg.Tables[fmt.Sprintf("%s_%d", kind, i)] = policy.Table{Column: "id", Source: kind, Layout: l}
				}
			}
		}
		p, err := cfg.Compile(d)
		if err != nil {
			t.Fatalf("%s: %v", d.Name, err)
		}
		for _, name := range slices.Sorted(maps.Keys(cfg.Tables)) {
			k := p.Match("", d.Fold(name, false)).Keys[0]
			s, err := policy.NewSource(k.Source, keysource.Env{})
			if err != nil {
				t.Errorf("%s: %s: New: %v", d.Name, name, err)
				continue
			}
			keys, err := s.Next(t.Context(), keysource.Request{N: 1, Layout: k.Layout})
			if err != nil || len(keys) != 1 {
				t.Errorf("%s: %s: Next(%s) = %v, %v", d.Name, name, k.Layout, keys, err)
			}
			if strings.HasPrefix(name, "ulid_0") && k.Layout != dialect.SequentialAsString {
				t.Errorf("%s: a ulid is sent as %s, want string", d.Name, k.Layout)
			}
		}
	}
}

func TestCloneCopies(t *testing.T) {
	cfg := fullConfig()
	c := cfg.Clone()
	if !reflect.DeepEqual(c, cfg) {
		t.Errorf("Clone = %+v, want %+v", c, cfg)
	}
	*c.Sources["n"].Create = false
	*c.Sources["f"].Worker = 8
	c.Stores["central"] = policy.Store{}
	c.Tables["Orders"].InPlace.Kind = "x"
	c.Tables["Orders"].Keys[0].Column = "x"
	clear(c.Sources)
	clear(c.Tables)
	if want := fullConfig(); !reflect.DeepEqual(cfg, want) {
		t.Errorf("after a change of the clone the configuration is %+v, want %+v", cfg, want)
	}
}
