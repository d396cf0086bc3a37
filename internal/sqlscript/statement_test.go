package sqlscript_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/sqlscript"
	"github.com/keyfill/keyfill/internal/txtar"
)

var update = flag.Bool("update", false, "write the statements that were found into testdata")

// split returns the statements of a script, each as it is shown in the archives, and the
// error.
func split(d *dialect.Dialect, script io.Reader) (all []sqlscript.Statement, err error) {
	for one, err := range sqlscript.Statements(d, script) {
		if err != nil {
			return all, err
		}
		all = append(all, one)
	}
	return all, nil
}

// shown writes statements and an error as the archives have them.
func shown(all []sqlscript.Statement, err error) string {
	var b strings.Builder
	for _, one := range all {
		fmt.Fprintf(&b, "== line %d, byte %d", one.Line, one.Offset)
		for comment := range strings.Lines(one.Comments) {
			fmt.Fprintf(&b, "\n#  %s", strings.TrimRight(comment, "\n"))
		}
		fmt.Fprintf(&b, "\n%s\n", one.Text)
	}
	if err != nil {
		fmt.Fprintf(&b, "== error\n%v\n", err)
	}
	return b.String()
}

// TestStatements compares the statements of the scripts in testdata, one archive for each
// client. An archive's comment begins with the dialect.
func TestStatements(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		own, _, _ := strings.Cut(string(archive.Comment), ":")
		d, err := dialect.ByName(own)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			script, want := archive.Files[i], &archive.Files[i+1]
			t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar")+"/"+script.Name, func(t *testing.T) {
				got := shown(split(d, strings.NewReader(string(script.Data))))
				if *update {
					want.Data = []byte(got)
				} else if got != string(want.Data) {
					t.Errorf("got\n%s\nwant\n%s", got, want.Data)
				}
			})
		}
		if *update {
			if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestWherePiecesEnd: the statements do not depend on where the pieces end that are read:
// a leading comment pushes each byte of the scripts over that place.
func TestWherePiecesEnd(t *testing.T) {
	const piece = 64 << 10
	for _, tt := range []struct {
		d      *dialect.Dialect
		script string
	}{
		{dialect.PostgreSQL(), "SELECT E'a\\''\n  '\\';', $f$ ; $f$;\nCOPY t FROM stdin;\n1\t';\n\\.\n\\connect x\nSELECT \"a;\"\"b\" /* ; /* ' */ */;\nSELECT 1 \\gset\nSELECT 2;"},
		{dialect.MySQL(), "DELIMITER ;;\nCREATE TRIGGER t BEFORE INSERT ON u FOR EACH ROW BEGIN SET @a = '\\';;'; END ;;\nDELIMITER ;\nINSERT INTO t VALUES ('it''s;'); -- x;\nSELECT 1\\G\nuse x\nSELECT `;`;"},
		{dialect.SQLServer(), "SELECT [a]];]\nGO 5\nDECLARE @a INT; SET @a = 1\ngo\nIF 1=1 BEGIN SELECT 1; END\nGO\n"},
	} {
		want, err := split(tt.d, strings.NewReader(tt.script))
		if err != nil || len(want) < 3 {
			t.Fatalf("%d statements, %v", len(want), err)
		}
		for shift := range len(tt.script) + 40 {
			front := "/*" + strings.Repeat("x", piece-shift-4) + "*/"
			got, err := split(tt.d, iotest.OneByteReader(strings.NewReader(front+tt.script)))
			if err != nil || len(got) != len(want) {
				t.Fatalf("shift %d: %d statements, %v, want %d", shift, len(got), err, len(want))
			}
			for i := range want {
				if got[i].Text != want[i].Text || got[i].Line != want[i].Line || got[i].Offset != want[i].Offset+int64(len(front)) {
					t.Errorf("shift %d: statement %d is %+v, want %+v", shift, i, got[i], want[i])
				}
			}
		}
	}
}

// TestMemory: a script of which no statement is long is never in memory as a whole, and a
// string without an end is found before the script's end.
func TestMemory(t *testing.T) {
	const most = 1 << 20
	for _, tt := range []struct{ name, script, want string }{
		{"a string without an end", "SELECT 1;\nSELECT 'a" + strings.Repeat("x;", 4*most), "line 2: the string that begins here has no end: close it, or name the dialect in which the text is written"},
		{"a long statement", "SELECT 1;\n\nSELECT 1" + strings.Repeat(" + 1", most), "line 3: what begins here is longer than 1048576 bytes: write shorter statements, or the end of its last string"},
		{"a long comment", "-- " + strings.Repeat("x", 4*most), "line 1: what begins here is longer than 1048576 bytes: write shorter statements, or the end of its last string"},
	} {
		source := &counting{r: strings.NewReader(tt.script)}
		var err error
		for _, err = range sqlscript.StatementsOf(dialect.PostgreSQL(), source, most) {
		}
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		if source.n == len(tt.script) {
			t.Errorf("%s: all %d bytes were read", tt.name, source.n)
		}
	}
	rows := "COPY t FROM stdin;\n" + strings.Repeat("1\t2\n", most) + "\\.\nSELECT 1;"
	n := 0
	for one, err := range sqlscript.StatementsOf(dialect.PostgreSQL(), strings.NewReader(rows), 1<<10) {
		if n++; err != nil || len(one.Text) > 20 {
			t.Errorf("statement %d has %d bytes, %v", n, len(one.Text), err)
		}
	}
	if n != 2 {
		t.Errorf("%d statements, want 2", n)
	}
}

// counting counts the bytes that are read.
type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// TestReaderFails: the error of the reader is the last that comes.
func TestReaderFails(t *testing.T) {
	r := io.MultiReader(strings.NewReader("SELECT 1;"+strings.Repeat(" ", 64<<10)+"SELECT 2;"), iotest.ErrReader(os.ErrPermission))
	all, err := split(dialect.SQLite(), r)
	if err != os.ErrPermission || len(all) > 1 {
		t.Errorf("%d statements, %v", len(all), err)
	}
}

// TestBytesThatTextCannotHold has what an archive cannot show.
func TestBytesThatTextCannotHold(t *testing.T) {
	for _, tt := range []struct{ name, script, want string }{
		{"the mark of UTF-8", "\ufeffSELECT 1;", "== line 1, byte 3\nSELECT 1\n"},
		{"UTF-16", "\xff\xfeS\x00", "== error\nthe file is UTF-16: write it as UTF-8\n"},
		{"NUL", "SELECT 1;\nSELECT \x00;", "== line 1, byte 0\nSELECT 1\n== error\nline 2: a NUL byte stands outside of strings: take it out, or convert the file to UTF-8\n"},
		{"NUL in a string", "SELECT '\x00;';", "== line 1, byte 0\nSELECT '\x00;'\n"},
		{"line ends of Windows", "SELECT 1;\r\nGO\r\nSELECT 2\r\nGO 3\r\n", "== line 1, byte 0\nSELECT 1\n== line 3, byte 15\nSELECT 2\n"},
		{"no UTF-8", "SELECT '\xe4;';", "== line 1, byte 0\nSELECT '\xe4;'\n"},
	} {
		if got := shown(split(dialect.SQLServer(), strings.NewReader(tt.script))); got != tt.want {
			t.Errorf("%s:\n%q, want\n%q", tt.name, got, tt.want)
		}
	}
}

// FuzzStatements: each statement stands where it says, after the one before, and the
// splitter comes to an end.
func FuzzStatements(f *testing.F) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		f.Fatalf("no archives: %v", err)
	}
	for _, name := range archives {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for i := 0; i < len(archive.Files); i += 2 {
			for at := range dialect.All() {
				f.Add(at, string(archive.Files[i].Data))
			}
		}
	}
	f.Fuzz(func(t *testing.T, at int, script string) {
		all := dialect.All()
		d := all[uint(at)%uint(len(all))]
		end, line := int64(0), 0
		for one, err := range sqlscript.Statements(d, strings.NewReader(script)) {
			if err != nil {
				return
			}
			if one.Text == "" || one.Offset < end || script[one.Offset:one.Offset+int64(len(one.Text))] != one.Text {
				t.Fatalf("%s: %+v does not stand there in %q", d.Name, one, script)
			}
			if n := strings.Count(script[:one.Offset], "\n") + 1; n != one.Line || n < line {
				t.Fatalf("%s: %+v is in line %d of %q", d.Name, one, n, script)
			}
			end, line = one.Offset+int64(len(one.Text)), one.Line
		}
	})
}

// BenchmarkStatements splits a script of a hundred thousand INSERTs.
func BenchmarkStatements(b *testing.B) {
	script := strings.Repeat("INSERT INTO orders (customer, note) VALUES (4711, 'it''s a note; or two');\n", 100_000)
	b.SetBytes(int64(len(script)))
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		for _, err := range sqlscript.Statements(dialect.PostgreSQL(), strings.NewReader(script)) {
			if n++; err != nil {
				b.Fatal(err)
			}
		}
		if n != 100_000 {
			b.Fatalf("%d statements", n)
		}
	}
}
