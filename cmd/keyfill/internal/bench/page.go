package bench

import (
	"crypto/sha256"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"

	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"os"
	"path/filepath"
	"strings"

	"github.com/keyfill/keyfill/internal/drawing"
	"github.com/keyfill/keyfill/internal/measure"
	"github.com/keyfill/keyfill/internal/stats"
)

// for the page

//go:embed bench.html
var benchPageText string

//go:embed bench.css
var benchPageStyle string

var benchPage = template.Must(template.New("bench").Parse(benchPageText))

// PageFile is the HTML file that --html names. It is created before anything is measured,
// so that a wrong name fails at once. The methods of a nil PageFile do nothing.
type PageFile struct {
	path string
	file *os.File
}

var errNoPage = errors.New("the page cannot be written: name a file in a folder that is there, and that you may write to")

// NewPageFile creates the file under a temporary name; it returns nil if path is empty.
func NewPageFile(path string) (*PageFile, error) {
	if path == "" {
		return nil, nil
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return nil, usage.Wrap(fmt.Errorf("--html: %w", errNoPage))
	}
	file, err := os.CreateTemp(filepath.Dir(path), ".keyfill-bench-*")
	if err != nil {
		return nil, usage.Wrap(fmt.Errorf("--html: %w", errNoPage))
	}
	return &PageFile{path: path, file: file}, nil
}

// Write writes the report as an HTML page, and renames the complete file to its own name.
func (p *PageFile) Write(r *Report) error {
	if p == nil {
		return nil
	}
	err := r.writePage(p.file)
	if err := errors.Join(err, p.file.Chmod(0o644), p.file.Close()); err != nil {
		return err
	}
	return os.Rename(p.file.Name(), p.path)
}

// Discard removes the temporary file, unless Write has renamed it.
func (p *PageFile) Discard() error {
	if p == nil {
		return nil
	}
	_ = p.file.Close() // the error only says that Write has closed the file already
	if err := os.Remove(p.file.Name()); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// pageTable is a table of the HTML page.
type pageTable struct {
	Head []string
	Rows [][]string
}

func newPageTable(rows [][]string) pageTable { return pageTable{rows[0], rows[1:]} }

// writePage writes the report as an HTML page that loads nothing else.
func (r *Report) writePage(file *os.File) error {
	style := drawing.Style + drawing.SpreadStyle + benchPageStyle
	hash := sha256.Sum256([]byte(style))
	var refused []string
	for _, l := range r.Layouts {
		if l.Refused != "" {
			refused = append(refused, l.Key+": "+l.Refused)
		}
	}
	for i, w := range r.Ways {
		if w.Refused != "" && (i == 0 || r.Ways[i-1].Way != w.Way) {
			refused = append(refused, w.Way+": "+w.Refused)
		}
	}
	view := map[string]any{
		"Policy":  template.HTMLAttr(`content="default-src 'none'; style-src 'sha256-` + base64.StdEncoding.EncodeToString(hash[:]) + `'"`),
		"Style":   template.CSS(style),
		"Report":  r,
		"Date":    r.Time.Format("2 January 2006, 15:04 UTC"),
		"Rows":    terminal.Grouped(r.Rows),
		"Rounds":  rounds(r.Rounds),
		"Verdict": r.layoutVerdict(),
		"Noise":   r.noiseVerdict(),
		"Times":   template.HTML(r.timeBars().Inline()),
		"Sizes":   template.HTML(""),
		"Ways":    []template.HTML{},
		"Layouts": newPageTable(r.layoutTable()),
		"Refused": refused,
	}
	if sizes := r.sizeBars(); len(sizes.Groups[0].Bars) > 0 {
		view["Sizes"] = template.HTML(sizes.Inline())
	}
	if len(r.Ways) > 0 {
		view["WayNoise"] = r.wayNoise()
		view["WayTable"] = newPageTable(r.wayTable())
		var all []template.HTML
		for _, n := range r.Connections {
			all = append(all, template.HTML(r.wayBars(n).Inline()))
		}
		view["Ways"] = all
	}
	return benchPage.Execute(file, view)
}

// layoutLabels shortens the names of layouts, so that they fit into a chart.
var layoutLabels = strings.NewReplacer("comb, the engine's layout", "comb", "comb, the layout of SQL Server", "comb of SQL Server",
	"the engine's own, again", "engine's own, again")

// spread returns b with a line from the lower end of the estimate e to its upper end.
func spread(b drawing.Bar, e *stats.Estimate) drawing.Bar {
	b.Low, b.High = e.Low, e.High
	return b
}

func (r *Report) timeBars() drawing.Bars {
	d := drawing.Bars{Title: "Time, as times the engine's own", Note: "shorter is better; the line is the spread\ngrey: the engine makes the key"}
	var g drawing.Group
	for _, l := range r.Layouts {
		if l.Ratio == nil {
			continue
		}
		g.Bars = append(g.Bars, spread(drawing.Bar{Label: layoutLabels.Replace(l.Key), Text: fmt.Sprintf("%.2fx", l.Ratio.Median),
			Value: l.Ratio.Median, Other: l.Key == measure.Own || l.Key == measure.OwnAgain}, l.Ratio))
	}
	d.Groups = []drawing.Group{g}
	return d
}

func (r *Report) sizeBars() drawing.Bars {
	d := drawing.Bars{Title: "Size of the table with its indexes", Note: "shorter is better; grey: the engine makes the key"}
	var g drawing.Group
	for _, l := range r.Layouts {
		if l.Table == 0 || l.Key == measure.OwnAgain {
			continue
		}
		size := l.Table + l.Indexes
		g.Bars = append(g.Bars, drawing.Bar{Label: layoutLabels.Replace(l.Key), Text: megabytes(size), Value: float64(size), Other: l.Key == measure.Own})
	}
	d.Groups = []drawing.Group{g}
	return d
}

// wayBars returns a chart of the ways to make keys over a number of connections. Each chart
// has the ways in the same order.
func (r *Report) wayBars(connections int) drawing.Bars {
	d := drawing.Bars{Title: "Rows a second, " + connectionsText(connections), Note: "longer is better; the line is the spread\ngrey: the engine makes the key"}
	var g drawing.Group
	for _, w := range r.Ways {
		if w.Connections != connections || w.Rate == nil || w.Rate.Median == 0 {
			continue
		}
		g.Bars = append(g.Bars, spread(drawing.Bar{Label: w.Way, Text: terminal.Grouped(int(w.Rate.Median)), Value: w.Rate.Median,
			Other: w.name == measure.Identity || w.name == identityAgain}, w.Rate))
	}
	d.Groups = []drawing.Group{g}
	return d
}
