// Command charts draws the figures of docs/performance.md for docs/sources.md, as SVG: the
// time that a key costs, the rows that an engine stores in a second, and the time and size
// of tables by the layout of their keys.
//
// "make charts" runs it from the folder of the module bench. "make bench" and "make
// layouts" draw them when they have written their tables.
package main

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/internal/drawing"
)

func main() {
	log.SetFlags(0)
	docs := filepath.Join("..", "docs")
	text, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		log.Fatal(err)
	}
	all, err := charts(string(text))
	if err != nil {
		log.Fatal(err)
	}
	for name, c := range all {
		if err := os.WriteFile(filepath.Join(docs, "charts", name), []byte(c.SVG()), 0o644); err != nil {
			log.Fatal(err)
		}
	}
}

// charts returns the charts of a page by the names of their files.
func charts(page string) (map[string]drawing.Bars, error) {
	bench, measured, err := rows(page, "bench")
	if err != nil {
		return nil, err
	}
	benchNote, err := where(measured)
	if err != nil {
		return nil, err
	}
	layouts, measured, err := rows(page, "layouts")
	if err != nil {
		return nil, err
	}
	layoutsNote, err := where(measured)
	if err != nil {
		return nil, err
	}
	keys, err := keyChart(bench, benchNote)
	if err != nil {
		return nil, err
	}
	stored, err := rowsChart(bench, benchNote)
	if err != nil {
		return nil, err
	}
	times, sizes, err := layoutCharts(layouts, layoutsNote)
	if err != nil {
		return nil, err
	}
	return map[string]drawing.Bars{"key.svg": keys, "rows.svg": stored, "layout-time.svg": times, "layout-size.svg": sizes}, nil
}

// keyNames shortens the names of figures about making one key, so that they fit into a
// chart.
var keyNames = strings.NewReplacer(" as a fill calls it", "", ", batch of 100 binary", " of 100, 16 bytes",
	" with its pool, typed", ", pool", " as boxed text", " as text", " typed", "")

// keyChart draws what one key costs.
func keyChart(bench [][]string, note string) (drawing.Bars, error) {
	var bars []drawing.Bar
	for _, row := range bench {
		name, isKey := strings.CutSuffix(row[0], ", a key")
		if !isKey || !strings.HasSuffix(row[3], " ns") {
			continue
		}
		ns, err := number(row[3])
		if err != nil {
			return drawing.Bars{}, err
		}
		bars = append(bars, drawing.Bar{Label: keyNames.Replace(name), Text: fmt.Sprintf("%.0f ns", ns), Value: ns, Other: strings.Contains(name, "/")})
	}
	if len(bars) < 6 {
		return drawing.Bars{}, fmt.Errorf("charts: the page has the time of %d keys", len(bars))
	}
	return drawing.Bars{Title: "Time to make one key", Note: "grey: other packages\n" + note, Groups: []drawing.Group{{Bars: bars}}}, nil
}

var storedRows = regexp.MustCompile(`^(PostgreSQL|MariaDB|SQLite), (.*), (\d+) connections?: rows a second \((\d+) a second\)$`)

// byHand is the name of the measurements in which the program numbers the key itself.
const byHand = "an integer sent by hand"

// rowsChart draws how many rows each engine stores in a second.
func rowsChart(bench [][]string, note string) (drawing.Bars, error) {
	var groups []drawing.Group
	for _, row := range bench {
		m := storedRows.FindStringSubmatch(row[0])
		if m == nil || strings.Contains(m[2], "interpolateParams") || m[2] == byHand {
			continue // this row is not drawn: with byHand keyfill is not used, and interpolateParams is a variant
		}
		rate, err := strconv.ParseFloat(m[4], 64)
		if err != nil {
			return drawing.Bars{}, err
		}
		beside, err := number(row[3])
		if err != nil {
			return drawing.Bars{}, err
		}
		name := strings.Replace(m[2], " in 16 bytes", "", 1) + ", " + m[3] + " conn."
		other := map[string]string{"key made by hand": "by hand", byHand: "by hand", "the engine's own": "the engine"}[row[1]]
		if len(groups) == 0 || groups[len(groups)-1].Title != m[1] {
			groups = append(groups, drawing.Group{Title: m[1]})
		}
		g := &groups[len(groups)-1]
		g.Bars = append(g.Bars,
			drawing.Bar{Label: name, Text: thousands(rate), Value: rate},
			drawing.Bar{Label: other, Text: thousands(rate / beside), Value: rate / beside, Other: true})
	}
	if len(groups) != 3 {
		return drawing.Bars{}, fmt.Errorf("charts: the page has the rows a second of %d engines", len(groups))
	}
	return drawing.Bars{Title: "Rows a second, one row a statement", Note: "grey: the same without keyfill; conn.: connections\n" + note, Groups: groups}, nil
}

func thousands(n float64) string { return fmt.Sprintf("%.1fk", n/1000) }

// layoutNames shortens the names of layouts of keys.
var layoutNames = strings.NewReplacer(", the engine's layout", "", ", the layout of SQL Server", " of SQL Server")

// layoutCharts draw the time and the size of tables by the layout of their keys.
func layoutCharts(layouts [][]string, note string) (times, sizes drawing.Bars, err error) {
	times = drawing.Bars{Title: "Seconds to store two million rows", Note: "grey: the engine makes the key; 500 rows a statement\n" + note}
	sizes = drawing.Bars{Title: "Size of two million rows, with indexes", Note: "grey: the engine makes the key\n" + note}
	for _, row := range layouts {
		var figures [3]float64
		for i, column := range []int{2, 6, 7} {
			if figures[i], err = number(row[column]); err != nil {
				return times, sizes, err
			}
		}
		if row[1] == "the engine's own, again" {
			continue
		}
		if n := len(times.Groups); n == 0 || times.Groups[n-1].Title != row[0] {
			times.Groups = append(times.Groups, drawing.Group{Title: row[0]})
			sizes.Groups = append(sizes.Groups, drawing.Group{Title: row[0]})
		}
		t, s := &times.Groups[len(times.Groups)-1], &sizes.Groups[len(sizes.Groups)-1]
		label, other := layoutNames.Replace(row[1]), row[1] == "the engine's own"
		size := figures[1] + figures[2]
		t.Bars = append(t.Bars, drawing.Bar{Label: label, Text: fmt.Sprintf("%.1f s", figures[0]), Value: figures[0], Other: other})
		s.Bars = append(s.Bars, drawing.Bar{Label: label, Text: fmt.Sprintf("%.0f MB", size), Value: size, Other: other})
	}
	if len(times.Groups) != 3 {
		return times, sizes, fmt.Errorf("charts: the page has the layouts of %d engines", len(times.Groups))
	}
	return times, sizes, nil
}
