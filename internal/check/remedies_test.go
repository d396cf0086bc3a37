package check_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/check"
	"github.com/keyfill/keyfill/internal/txtar"
)

var update = flag.Bool("update", false, "rewrite testdata/remedies.txtar")

// TestRemedies compares the statements that mend a column, for each engine, with
// testdata/remedies.txtar. The statements for SQL Server and Oracle were never run;
// parsers read what they can read of all of them: see TestRemedies in package parsers of
// module judge.
func TestRemedies(t *testing.T) {
	file := filepath.Join("testdata", "remedies.txtar")
	want, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got := &txtar.Archive{Comment: want.Comment}
	for _, d := range []*dialect.Dialect{dialect.MySQL(), dialect.PostgreSQL(), dialect.SQLite(), dialect.SQLServer(), dialect.Oracle()} {
		remedies := check.Remedies(d, "shop", `odd "na]me'`+"`", "select")
		var b strings.Builder
		for _, name := range slices.Sorted(maps.Keys(remedies)) {
			fmt.Fprintf(&b, "%s\t%s\n", name, remedies[name])
		}
		got.Files = append(got.Files, txtar.File{Name: d.Name, Data: []byte(b.String())})
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text, old := string(txtar.Format(got)), string(txtar.Format(want)); text != old {
		t.Errorf("the statements are\n%s\nwant\n%s", text, old)
	}
}

// proxied answers SELECT CONNECTION_ID() with one number and any other text with the
// next one of a list, as a proxy does that answers the former itself.
type proxied struct {
	own     int64
	numbers []int64
	asked   int
}

func (p *proxied) Rows(_ context.Context, query string, _ ...any) ([][]any, error) {
	if query == "SELECT CONNECTION_ID()" {
		return [][]any{{p.own}}, nil
	}
	p.asked++
	return [][]any{{p.numbers[p.asked%len(p.numbers)]}}, nil
}

// TestAskProxy: a connection has one number, or it ends at a proxy.
func TestAskProxy(t *testing.T) {
	for _, c := range []struct {
		name string
		at   proxied
		want bool
	}{
		{"a server", proxied{own: 7, numbers: []int64{7}}, false},
		{"ProxySQL", proxied{own: 900, numbers: []int64{7}}, true},
		{"a proxy that splits reads", proxied{own: 7, numbers: []int64{7, 21, 7, 21}}, true},
	} {
		if got, err := check.AskProxy(t.Context(), &c.at); got != c.want || err != nil {
			t.Errorf("%s: %v, %v", c.name, got, err)
		}
	}
}
