package sqllog_test

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/keyfill/keyfill/internal/sqllog"
	"github.com/keyfill/keyfill/internal/txtar"
)

var update = flag.Bool("update", false, "write the statements that were found into testdata")

// shown writes the statements of a log as the archives have them.
func shown(f sqllog.Format, r io.Reader) string {
	var b strings.Builder
	for one, err := range sqllog.Statements(f, r) {
		if err != nil {
			fmt.Fprintf(&b, "== error\n%v\n", err)
			break
		}
		fmt.Fprintf(&b, "== line %d\n%s\n", one.Line, one.Text)
	}
	return b.String()
}

// TestStatements compares the statements of the logs in testdata. Each archive is a kind
// of log, which it is named after. mariadb and postgresql in the name of a log are the
// servers that wrote it.
func TestStatements(t *testing.T) {
	for _, format := range sqllog.Formats() {
		name := filepath.Join("testdata", string(format)+".txtar")
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if len(archive.Files) < 4 {
			t.Errorf("%s has no cases", name)
		}
		for i := 0; i+1 < len(archive.Files); i += 2 {
			log, want := archive.Files[i], &archive.Files[i+1]
			t.Run(string(format)+"/"+log.Name, func(t *testing.T) {
				if found := sqllog.Detect(log.Data); found != format && !strings.HasPrefix(log.Name, "broken") {
					t.Errorf("Detect = %q", found)
				}
				got := shown(format, strings.NewReader(string(log.Data)))
				if *update {
					want.Data = []byte(got)
				} else if got != string(want.Data) {
					t.Errorf("got\n%s\nwant\n%s", got, want.Data)
				}
				windows := strings.ReplaceAll(string(log.Data), "\n", "\r\n")
				if got := strings.ReplaceAll(shown(format, strings.NewReader(windows)), "\r\n", "\n"); got != string(want.Data) && !*update {
					t.Errorf("with line ends of Windows\n%s\nwant\n%s", got, want.Data)
				}
				if got := shown(format, iotest.OneByteReader(strings.NewReader(string(log.Data)))); got != string(want.Data) && !*update {
					t.Errorf("byte by byte\n%s\nwant\n%s", got, want.Data)
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

// TestDetectNothing: texts that are not logs are not taken for logs.
func TestDetectNothing(t *testing.T) {
	for _, text := range []string{
		"", "\n", "SELECT 1;\n", "-- a comment: \nSELECT 1;", "{\"sql\":\"SELECT 1\"}\n", "/*!40101 SET NAMES utf8 */;\n",
		"# a comment\nSELECT 1;\n", "INSERT INTO t VALUES ('LOG: x');\n", "a,b,c,d,e,f,g,h,i,j,k,LOG,m\n", "\t\tSELECT 1\n",
	} {
		if found := sqllog.Detect([]byte(text)); found != "" {
			t.Errorf("Detect(%q) = %q", text, found)
		}
	}
}

// TestMessageTooLong: a message that does not end is an error before the log is in
// memory.
func TestMessageTooLong(t *testing.T) {
	const most = 1 << 20
	for format, begin := range map[sqllog.Format]string{
		sqllog.CSV:     "\n2026-11-23 12:00:00.000 UTC,\"",
		sqllog.JSON:    "\n{\"error_severity\":\"",
		sqllog.Stderr:  "\nx LOG:  statement: SELECT\n\t",
		sqllog.General: "\n2026-11-23T12:00:00.000000Z\t    8 Query\tSELECT ",
		sqllog.Slow:    "\nSET timestamp=1;\nSELECT ",
	} {
		pieces := "x;\n\t"
		if format == sqllog.JSON {
			pieces = "xxxx"
		}
		source := &counting{r: strings.NewReader(begin + strings.Repeat(pieces, 2*most))}
		var err error
		for _, err = range sqllog.StatementsOf(format, source, most) {
		}
		if want := "is longer than 1048576 bytes: cut it out, or say the right --format"; err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", format, err, want)
		}
		if source.n > 3*most {
			t.Errorf("%s: %d bytes were read", format, source.n)
		}
	}
}

type counting struct {
	r io.Reader
	n int
}

func (c *counting) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

// TestReaderFails: the error of the reader comes as it is, at whatever place.
func TestReaderFails(t *testing.T) {
	for _, format := range sqllog.Formats() {
		archive, err := txtar.ParseFile(filepath.Join("testdata", string(format)+".txtar"))
		if err != nil {
			t.Fatal(err)
		}
		log := string(archive.Files[0].Data)
		for n := range len(log) {
			r := io.MultiReader(strings.NewReader(log[:n]), iotest.ErrReader(os.ErrPermission))
			var last error
			for _, err := range sqllog.Statements(format, r) {
				last = err
			}
			if last != os.ErrPermission {
				t.Fatalf("%s: after %d bytes: %v", format, n, last)
			}
		}
	}
}

// FuzzStatements: no log makes a reader panic or go on for ever, its lines grow, and what
// it gives stands in the log.
func FuzzStatements(f *testing.F) {
	for _, format := range sqllog.Formats() {
		archive, err := txtar.ParseFile(filepath.Join("testdata", string(format)+".txtar"))
		if err != nil {
			f.Fatal(err)
		}
		for i := 0; i < len(archive.Files); i += 2 {
			f.Add(archive.Files[i].Data)
		}
	}
	f.Fuzz(func(t *testing.T, log []byte) {
		_ = sqllog.Detect(log)
		lines := strings.Count(string(log), "\n") + 1
		for _, format := range sqllog.Formats() {
			line, n := 0, 0
			for one, err := range sqllog.StatementsOf(format, strings.NewReader(string(log)), 1<<16) {
				if err != nil {
					break
				}
				if one.Line <= line || one.Line > lines || len(one.Text) > len(log) {
					t.Fatalf("%s: %+v behind line %d of %q", format, one, line, log)
				}
				line = one.Line
				if n++; n > lines {
					t.Fatalf("%s: more statements than lines in %q", format, log)
				}
			}
		}
	})
}
