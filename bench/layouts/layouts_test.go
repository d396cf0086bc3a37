package layouts_test

import (
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/bench/engines"
	"github.com/keyfill/keyfill/bench/layouts"
	"github.com/keyfill/keyfill/bench/machine"
	"github.com/keyfill/keyfill/bench/page"
	"github.com/keyfill/keyfill/internal/measure"
	"github.com/keyfill/keyfill/internal/testdb"
)

func TestMain(m *testing.M) { testdb.Main(m, engines.Servers()...) }

// wholeRows is how many rows the tables have whose results a page may show.
const wholeRows = 2_000_000

// TestLayouts fills the tables, prints the results and writes them where they belong.
// Without KEYFILL_LAYOUTS=1 the tables are small, and nothing is printed: each layout
// is stored by each engine, and no key comes twice.
func TestLayouts(t *testing.T) {
	measures := os.Getenv("KEYFILL_LAYOUTS") == "1"
	rows := layouts.Whole(1)
	if measures {
		rows = wholeRows
	}
	if text := os.Getenv("KEYFILL_LAYOUTS_ROWS"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			t.Fatalf("KEYFILL_LAYOUTS_ROWS is a number from 1 on, not %q", text)
		}
		rows = layouts.Whole(n)
	}
	where, err := machine.Describe()
	if err != nil {
		t.Fatal(err)
	}
	report := &layouts.Report{Machine: where, Rows: rows}
	chosen := chooseEngines(t)
	for _, e := range chosen {
		t.Run(e.Name, func(t *testing.T) { fill(t, report, e, rows) })
	}
	if !measures {
		return
	}
	report.Compare()
	text := report.Markdown()
	fmt.Print(text)
	if file := os.Getenv("KEYFILL_LAYOUTS_JSON"); file != "" {
		if err := page.WriteJSON(file, report); err != nil {
			t.Error(err)
		}
	}
	file := os.Getenv("KEYFILL_LAYOUTS_PAGE")
	switch whole := rows == wholeRows && len(chosen) == len(different()) && !t.Failed(); {
	case file == "":
	case !whole:
		fmt.Printf("%s stays as it is: it shows whole runs of %d rows\n", file, wholeRows)
	case !where.Quiet():
		fmt.Printf("%s stays as it is: it shows runs on a quiet machine, and the load was %.2f\n", file, where.Load)
	default:
		if err := page.Write(file, "layouts", text); err != nil {
			t.Error(err)
		}
	}
}

// fill measures all layouts on an engine.
func fill(t *testing.T, report *layouts.Report, e engines.Engine, rows int) {
	connector, err := e.Connector(t)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	version, err := e.Describe(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	report.Versions = append(report.Versions, version)
	for i, l := range measure.Layouts() {
		t.Run(l.Name, func(t *testing.T) {
			cell := layouts.Cell{Engine: e, Layout: l, Table: fmt.Sprintf("t%d", i), Rows: rows}
			result, err := cell.Run(t.Context(), connector)
			if err != nil {
				t.Fatal(err)
			}
			if result.Table == 0 {
				t.Error("the table has no size")
			}
			t.Logf("%v, %d bytes and %d of indexes", result.Took, result.Table, result.Indexes)
			report.Results = append(report.Results, result)
		})
	}
}

// different are the engines that store rows differently: how a driver sends them does
// not matter here.
func different() []engines.Engine {
	var all []engines.Engine
	for _, e := range engines.All() {
		if !slices.ContainsFunc(all, func(o engines.Engine) bool { return o.Dialect == e.Dialect }) {
			all = append(all, e)
		}
	}
	return all
}

// chooseEngines returns those whose names KEYFILL_LAYOUTS_ENGINES lists, else all.
func chooseEngines(t *testing.T) []engines.Engine {
	text := os.Getenv("KEYFILL_LAYOUTS_ENGINES")
	if text == "" {
		return different()
	}
	var chosen []engines.Engine
	for name := range strings.SplitSeq(text, ",") {
		i := slices.IndexFunc(different(), func(e engines.Engine) bool { return e.Name == strings.TrimSpace(name) })
		if i < 0 {
			t.Fatalf("KEYFILL_LAYOUTS_ENGINES: there is no %q", name)
		}
		chosen = append(chosen, different()[i])
	}
	return chosen
}
