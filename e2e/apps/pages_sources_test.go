package apps_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/policy"
)

// workerVariable holds the number of a process in the pages. TestMain sets it, since a test
// that does so cannot run beside others.
const workerVariable = "APP_WORKER"

// chosen is a row of the table in which a page says which source to take.
type chosen struct {
	page   string
	wanted string // what the reader wants
	source string // as it stands there
}

var chosenRow = regexp.MustCompile("^\\| (.*?) \\| `([^`]*)`(.*)\\|$")

// chosenRows returns the rows of the first table of a page, which must have so many.
func chosenRows(t *testing.T, page string, least int) (rows []chosen) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n|---|")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, line := range strings.Split(table, "\n")[1:] {
		found := chosenRow.FindStringSubmatch(line)
		if found == nil {
			t.Fatalf("%s: no source in %q", page, line)
		}
		rows = append(rows, chosen{page, found[1], found[2]})
	}
	if len(rows) < least {
		t.Fatalf("the first table of %s has %d rows, want %d or more", page, len(rows), least)
	}
	return rows
}

// headOf returns what stands above the tables of the first policy of a page.
func headOf(t *testing.T, page string) string {
	t.Helper()
	for _, b := range blocksOf(t, page) {
		if head, _, found := strings.Cut(b.text, "\ntables:\n"); b.language == "yaml" && found {
			return head + "\n"
		}
	}
	t.Fatalf("%s has no policy", page)
	return ""
}

// TestFirstTables: each row of the tables by which a reader chooses a source works as it
// stands. In an empty folder there is a policy with that source and what the page's own
// policy has above its tables; in an empty database there is the table to fill, and the first
// INSERT stores a row.
func TestFirstTables(t *testing.T) {
	t.Parallel()
	tried := map[string]int{}
	for page, least := range map[string]int{"README.md": 5, "docs/sources.md": 10} {
		head := headOf(t, page)
		for _, row := range chosenRows(t, page, least) {
			tried[row.source]++
			t.Run(page+"/"+row.wanted, func(t *testing.T) {
				t.Parallel()
				for _, e := range harness.ByTurns(t, checkEngines) {
					t.Run(e.Name, func(t *testing.T) {
						t.Parallel()
						row.store(t, head, e)
					})
				}
			})
		}
	}
	if len(tried) < 9 {
		t.Errorf("%d sources were tried, want 9 or more", len(tried))
	}
}

// oneWorker is held by the row that uses the process's number: keyfill refuses the number to
// a second driver, and the rows run at once on several.
var oneWorker sync.Mutex

// store stores a first row with the source.
func (c chosen) store(t *testing.T, head string, e harness.Engine) {
	t.Helper()
	if strings.Contains(c.source, workerVariable) {
		oneWorker.Lock()
		t.Cleanup(oneWorker.Unlock)
	}
	dsn := e.DSN(t)
	s := &harness.Scratch{Engine: e, Connector: harness.ConnectorOf(t, e.Driver, dsn), Raw: harness.Open(t, e.Driver, dsn)}
	source, insert := c.source, harness.InsertT
	switch {
	case strings.Contains(source, "below: N"):
		createNumbered(t, s, 0)
		d := &deployment{t: t, raw: s.Raw, ways: []way{{driver: e.Driver, dsn: dsn}}}
		printed := parsed(t, "  "+d.execute(d.plan("there"))[0]+"\n").Tables["t"].InPlace
		source = strings.Replace(source, "start: S", fmt.Sprintf("start: %d", printed.Start), 1)
		source = strings.Replace(source, "below: N", fmt.Sprintf("below: %d", printed.Below), 1)
	case source == "native":
		if s.Dialect.OneWriter {
			return // the page says that SQLite has none
		}
		if s.Server == harness.MariaDB {
			head += "dialect: mariadb\n" // as the page says
		}
		harness.Must(t, s.Raw, "CREATE SEQUENCE t_ids", "CREATE TABLE t (id "+s.Drawing("t_ids")+" PRIMARY KEY, a INT)")
	case strings.Contains(source, "table: …"):
		source = c.example(t, "docs/methods.md")
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
		createKeys(t, s, source)
	case strings.Contains(source, "scope: [order_id]"):
		insert = "INSERT INTO t (order_id, a) VALUES (7, 1)"
		harness.Must(t, s.Raw, "CREATE TABLE t (order_id BIGINT, id BIGINT, a INT, PRIMARY KEY (order_id, id))")
	case strings.Contains(source, "uuidv5"):
		source = strings.NewReplacer("namespace: …", "namespace: c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17", "[order_id, line_no]", "[a]").Replace(source)
		harness.Must(t, s.Raw, "CREATE TABLE t (id VARCHAR(36) PRIMARY KEY, a INT)")
	case isText(source):
		harness.Must(t, s.Raw, "CREATE TABLE t (id VARCHAR(36) PRIMARY KEY, a INT)")
	default:
		harness.Must(t, s.Raw, "CREATE TABLE t (id BIGINT PRIMARY KEY, a INT)")
	}
	file := filepath.Join(t.TempDir(), "keyfill.yaml")
	if err := os.WriteFile(file, []byte(head+"tables:\n  t: {column: id, source: "+source+"}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	cfg, err := policy.Load(file)
	if err != nil {
		t.Fatal(err)
	}
	db, _ := s.Open(t, cfg)
	if _, err := db.Exec(insert); err != nil {
		t.Fatalf("the first INSERT with %s: %v", source, err)
	}
	if n := harness.Count(t, s.Raw, "SELECT COUNT(*) FROM t WHERE id IS NOT NULL"); n != 1 {
		t.Errorf("%d rows, want 1", n)
	}
}

// isText reports whether the keys of a source are texts.
func isText(source string) bool {
	return slices.ContainsFunc([]string{"uuid", "coprime"}, func(kind string) bool { return strings.Contains(source, kind) })
}

// example returns the source of a page that counts in a table of other programs.
func (c chosen) example(t *testing.T, page string) string {
	t.Helper()
	for _, b := range blocksOf(t, page) {
		for line := range strings.Lines(b.text) {
			if source, found := strings.CutPrefix(strings.TrimSpace(line), "source: "); found && strings.Contains(source, "row: orders") {
				return source
			}
		}
	}
	t.Fatalf("%s has no source with table:", page)
	return ""
}

// createKeys makes the table of other programs in which a source counts.
func createKeys(t *testing.T, s *harness.Scratch, source string) {
	t.Helper()
	cfg, err := policy.Parse([]byte("version: 1\ntables: {t: {column: id, source: " + source + "}}\n"))
	if err != nil {
		t.Fatal(err)
	}
	k := cfg.Tables["t"].InPlace.Table
	harness.Must(t, s.Raw, fmt.Sprintf("CREATE TABLE %s (%s VARCHAR(64) PRIMARY KEY, %s BIGINT)", k.Name, k.Key, k.Value),
		fmt.Sprintf("INSERT INTO %s VALUES ('%s', 1)", k.Name, k.Row))
}
