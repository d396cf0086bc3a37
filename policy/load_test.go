package policy_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

const smallest = "version: 1\ntables:\n  orders: {column: id}\n"

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "my.yaml")
	write(t, path, smallest)
	if cfg, err := policy.Load(path); err != nil || cfg.Tables["orders"].Column != "id" {
		t.Errorf("Load = %+v, %v", cfg, err)
	}
	write(t, path, "version: 1\ntables: 7\n")
	_, err := policy.Load(path)
	if want := path + ":2:9: tables: want a mapping, have a number; write tables: {orders: {column: id}}"; err == nil || plain(err) != want {
		t.Errorf("Load fails with %v, want %s", err, want)
	}
	var e *policy.Error
	if !errors.As(err, &e) || e.File != path || e.Line != 2 || e.Column != 9 {
		t.Errorf("Load fails with %+v, want file, line 2 and column 9", e)
	}
	if _, err := policy.Load(path + ".missing"); !errors.Is(err, fs.ErrNotExist) || !strings.HasPrefix(err.Error(), "policy: ") {
		t.Errorf("Load of a missing file fails with %v, want fs.ErrNotExist", err)
	}
	if _, err := policy.Load(filepath.Dir(path)); err == nil || !strings.Contains(err.Error(), "the path is a folder; name the policy's file in the folder") {
		t.Errorf("Load of a folder: %v, want an error that says so", err)
	}
}

func TestLoadFS(t *testing.T) {
	files := fstest.MapFS{"conf/keyfill.yaml": &fstest.MapFile{Data: []byte(smallest)}}
	if cfg, err := policy.LoadFS(files, "conf/keyfill.yaml"); err != nil || len(cfg.Tables) != 1 {
		t.Errorf("LoadFS = %+v, %v", cfg, err)
	}
	if _, err := policy.LoadFS(files, "keyfill.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("LoadFS of a missing file fails with %v, want fs.ErrNotExist", err)
	}
}

func TestFromEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	t.Setenv("KEYFILL_CONFIG", "")

	_, err := policy.FromEnvironment()
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("FromEnvironment fails with %v, want fs.ErrNotExist", err)
	}
	for _, word := range []string{"$KEYFILL_CONFIG", "./keyfill.yaml", "policy.Parse"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("FromEnvironment fails with %q, which does not name %s", err, word)
		}
	}

	write(t, "keyfill.yaml", smallest)
	if cfg, err := policy.FromEnvironment(); err != nil || cfg.Tables["orders"].Column != "id" {
		t.Errorf("FromEnvironment = %+v, %v, want that of ./keyfill.yaml", cfg, err)
	}

	other := filepath.Join(dir, "other.yaml")
	write(t, other, strings.Replace(smallest, "orders", "lines", 1))
	t.Setenv("KEYFILL_CONFIG", other)
	if cfg, err := policy.FromEnvironment(); err != nil || cfg.Tables["lines"].Column != "id" {
		t.Errorf("FromEnvironment = %+v, %v, want that of $KEYFILL_CONFIG", cfg, err)
	}

	t.Setenv("KEYFILL_CONFIG", dir)
	if _, err := policy.FromEnvironment(); err == nil || !strings.Contains(err.Error(), "folder") || !strings.Contains(err.Error(), "$KEYFILL_CONFIG") {
		t.Errorf("FromEnvironment of a folder: %v, want an error that names $KEYFILL_CONFIG", err)
	}

	t.Setenv("KEYFILL_CONFIG", other+".missing")
	_, err = policy.FromEnvironment()
	if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "$KEYFILL_CONFIG") {
		t.Errorf("FromEnvironment fails with %v, want it to name $KEYFILL_CONFIG, not to fall back", err)
	}
}

// TestParseBytes has files that text in an archive cannot hold.
func TestParseBytes(t *testing.T) {
	tests := []struct {
		name, in string
		want     string // "" is no error
	}{
		{"nothing", "", `policy: line 1, column 1: the file is empty; it begins with version: 1`},
		{"windows line ends", strings.ReplaceAll(smallest, "\n", "\r\n"), ``},
		{"windows line ends and a mistake", "version: 1\r\ntables:\r\n  orders: {colum: id}\r\n",
			`policy: line 3, column 12: table "orders": unknown field "colum"; did you mean "column"?`},
		{"byte order mark", "\ufeff" + smallest, ``},
		{"not UTF-8", "version: 1\ntables:\n  größe: {column: \xff}\n", `policy: line 3, column 19: the file is not UTF-8; write it in UTF-8`},
		{"UTF-16", "\xff\xfev\x00", `policy: line 1, column 1: the file is not UTF-8; write it in UTF-8`},
		{"control character", "version: 1\ntables:\n  orders: {column: i\x01d}\n", `policy: line 3: not YAML: control characters are not allowed`},
		{"columns count characters", "version: 1\ntables: {größe: {colum: id}}\n",
			`policy: line 2, column 18: table "größe": unknown field "colum"; did you mean "column"?`},
		{"too large", smallest + strings.Repeat("#", 1<<20), `policy: the file has more than 1048576 bytes`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if _, err := policy.Parse([]byte(tt.in)); err != nil {
				got = plain(err)
			}
			if got != tt.want {
				t.Errorf("Parse fails with\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestParseIsBounded has files whose cost would explode if aliases were
// followed or the stack were not bounded.
func TestParseIsBounded(t *testing.T) {
	bomb := "version: 1\na0: &a0 {column: id}\n"
	for i := range 60 {
		bomb += strings.ReplaceAll(strings.ReplaceAll("aN: &aN [*aM, *aM, *aM, *aM]\n", "N", string(rune('b'+i))), "M", string(rune('a'+i)))
	}
	tests := map[string]string{
		"alias bomb":      strings.Replace(bomb, "a0: &a0", "aa: &aa", 1) + "tables: *az\n",
		"deep lists":      "version: 1\ntables: " + strings.Repeat("[", 9000) + strings.Repeat("]", 9000),
		"deeper lists":    "version: 1\ntables: " + strings.Repeat("[", 500_000),
		"deep mappings":   "version: 1\ntables: " + strings.Repeat("{a: ", 9000) + "b" + strings.Repeat("}", 9000),
		"deep keys":       strings.Repeat("? ", 9000),
		"long name":       "version: 1\ntables: {" + strings.Repeat("x", 500_000) + ": {column: id}}",
		"long field":      "version: 1\n" + strings.Repeat("x", 500_000) + ": 1",
		"many mistakes":   "version: 1\ntables:\n" + strings.Repeat("  1: {}\n", 50_000),
		"one long word":   "version: 1\nmode: " + strings.Repeat("x", 500_000),
		"late syntax":     "version: 1\ntables:\n" + strings.Repeat("  # orders\n", 50_000) + "  - x",
		"many equal keys": "version: 1\ntables: {" + strings.Repeat("a: {}, ", 50_000) + "}",
	}
	for name, in := range tests {
		t.Run(name, func(t *testing.T) {
			begin := time.Now()
			cfg, err := policy.Parse([]byte(in))
			if err == nil {
				_, err = cfg.Compile(dialect.MySQL())
			}
			if err == nil {
				t.Fatal("Parse and Compile succeed")
			}
			if n := len(err.Error()); n > 3000 {
				t.Errorf("the error has %d bytes", n)
			}
			if d := time.Since(begin); d > 30*time.Second {
				t.Errorf("it takes %v", d)
			}
		})
	}
}

// TestParseSpecification has the example of the specification, with the kinds
// that there are.
func TestParseSpecification(t *testing.T) {
	cfg, err := policy.Parse([]byte(`version: 1
dialect: mysql                  # optional
mode: fill                      # fill | dry_run | off, for the file or one table
unsupported: refuse             # refuse (default) | unfilled: an INSERT on a configured table that cannot be filled
fill: [missing, null, default]  # exactly these; left out: the default below
stores:
  central: {driver: pgx, dsn_env: KEYFILL_CENTRAL_DSN}
sources:
  order_no: {kind: sequence, block: 1000}
tables:
  customers:        {column: id, source: uuidv7}
  devices:          {column: id, source: uuidv7, layout: binary}        # BINARY(16)
  orders:           {column: id, source: order_no, max_bits: 31}
  payments:         {column: id, source: {kind: sequence}, last_insert_id: result}   # session | result | off
  sales.invoices:   {column: number, source: {kind: sequence}}
  links:            {column: code, source: {kind: ulid}}
  order_lines:      {keys: [{column: line_no, source: {kind: sequence}}]}
  "log_*":          {column: id, source: {kind: snowflake, worker_env: APP_WORKER}}    # glob; the most specific entry wins
`))
	if err != nil {
		t.Fatal(err)
	}
	p, err := cfg.Compile(dialect.MySQL())
	if err != nil {
		t.Fatal(err)
	}
	for _, table := range []string{"customers", "devices", "orders", "payments", "links", "order_lines", "log_2024"} {
		if p.Match("", table) == nil {
			t.Errorf("Match(%q, %q) = nil", "", table)
		}
	}
	if p.Match("", "invoices") != nil || p.Match("sales", "invoices") == nil {
		t.Error("sales.invoices is not matched in its schema only")
	}
	if r := p.Match("", "devices"); r.Keys[0].Layout != dialect.SequentialAsBinary {
		t.Errorf("the layout of devices is %s, want binary", r.Keys[0].Layout)
	}
}

// TestParsePackageDoc reads the file in the package's documentation.
func TestParsePackageDoc(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(doc), "// # The file\n//\n")
	text, _, found := strings.Cut(rest, "//\n// keyfill.schema.json")
	if !found {
		t.Fatal("doc.go has no file")
	}
	cfg, err := policy.Parse([]byte(strings.ReplaceAll(text, "//\t", "")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cfg.Compile(dialect.MySQL()); err != nil {
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}
