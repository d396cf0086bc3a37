package conformance_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/conformance"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/txtar"
)

var update = flag.Bool("update", false, "write the texts of goldens.txtar again from testdata")

// harmless are the words that a case may have besides the names of its tables and columns:
// no word of them makes, changes or reads anything but rows of the named tables.
var harmless = strings.Fields(`insert into replace merge with values value row select from where group by having order limit
	union all distinct join on using matched not when then case else end and or null default as is in exists set
	duplicate key update conflict do nothing excluded returning output inserted count coalesce lower upper`)

// aliases are the names that cases give to tables, columns and rows of their own.
var aliases = strings.Fields(`s t c o n m x a b d e i r v z src tgt one two kf p1 p2 p3 p4 p5 p6`)

// TestGoldens: each case is the one of testdata, is one INSERT, REPLACE or MERGE, and has
// no word but those that are allowed: no DDL, no GRANT, no COPY, no function that does
// anything, and no name of a table that the run has not made.
func TestGoldens(t *testing.T) {
	const file = "goldens.txtar"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	list := txtar.Parse(text)
	cases := 0
	for i, f := range list.Files {
		topic, name, isCase := strings.Cut(f.Name, "/")
		if !isCase {
			continue
		}
		cases++
		want := goldenIn(t, topic, name)
		if *update {
			list.Files[i].Data = []byte(want)
			f.Data = []byte(want)
		}
		if string(f.Data) != want {
			t.Errorf("%s: the text is %q, and in testdata %q: -update writes it", f.Name, f.Data, want)
		}
		checkHarmless(t, f.Name, string(f.Data))
	}
	if cases < 200 {
		t.Errorf("%d cases: this test does not read the list", cases)
	}
	for _, d := range []*dialect.Dialect{dialect.SQLite(), dialect.MySQL(), dialect.MariaDB(), dialect.PostgreSQL(), dialect.SQLServer(), dialect.Oracle()} {
		topics := conformance.GoldenTopics(d)
		if len(topics) < 5 {
			t.Errorf("%s has the topics %q", d.Name, topics)
		}
	}
	if *update && !bytes.Equal(txtar.Format(list), text) {
		if err := os.WriteFile(file, txtar.Format(list), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// goldenIn returns the text of a case in testdata.
func goldenIn(t *testing.T, topic, name string) string {
	t.Helper()
	archive, err := txtar.ParseFile(filepath.Join("../../../../testdata", topic+".txtar"))
	if err != nil {
		t.Fatal(err)
	}
	bare, _, _ := strings.Cut(name, ".")
	for _, section := range []string{name + ".in", bare + ".in"} { // a case of all dialects of its archive names none
		for _, f := range archive.Files {
			if f.Name == section {
				return string(f.Data)
			}
		}
	}
	t.Errorf("testdata/%s.txtar has no case %s", topic, name)
	return ""
}

// The parts of a text that are no words.
var (
	literal = regexp.MustCompile(`'(?:[^']|'')*'`)
	comment = regexp.MustCompile(`--[^\n]*`)
	word    = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)
	into    = regexp.MustCompile(`(?i)\b(?:into|from|join)\s+([A-Za-z_][A-Za-z_0-9.]*)`)
	first   = regexp.MustCompile(`(?i)^\s*(insert|replace|merge|with)\b`)
)

func checkHarmless(t *testing.T, name, text string) {
	t.Helper()
	var tables, columns []string
	for _, g := range conformance.GoldenTables {
		tables = append(tables, g.Name())
		columns = append(columns, g.ColumnNames()...)
	}
	bare := literal.ReplaceAllString(comment.ReplaceAllString(text, ""), " ")
	if !first.MatchString(bare) {
		t.Errorf("%s begins with another word: %q", name, text)
	}
	if strings.ContainsAny(bare, "`\"#;{}[]\\") || strings.Contains(bare, "/*") || strings.Contains(bare, "@@") {
		t.Errorf("%s has quotes, comments or a second statement: %q", name, text)
	}
	for _, w := range word.FindAllString(bare, -1) {
		w = strings.ToLower(w)
		if !slices.Contains(harmless, w) && !slices.Contains(aliases, w) && !slices.Contains(tables, w) && !slices.Contains(columns, w) {
			t.Errorf("%s has the word %q", name, w)
		}
	}
	for _, m := range into.FindAllStringSubmatch(bare, -1) {
		table := strings.ToLower(m[1])
		if !slices.Contains(tables, table) && !slices.Contains(harmless, table) && !slices.Contains(aliases, table) {
			t.Errorf("%s names the table %q", name, m[1])
		}
	}
}

// TestHarmlessWords: the words that a case must not have are not allowed by mistake.
func TestHarmlessWords(t *testing.T) {
	for _, w := range strings.Fields("create drop alter grant revoke copy program truncate delete call exec execute declare begin attach pragma outfile infile load dblink lo_import pg_sleep xp_cmdshell openrowset dual") {
		if slices.Contains(harmless, w) || slices.Contains(aliases, w) {
			t.Errorf("%s is allowed", w)
		}
	}
}
