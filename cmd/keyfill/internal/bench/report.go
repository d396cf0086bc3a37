package bench

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/internal/measure"
	"github.com/keyfill/keyfill/internal/stats"
)

// Report is the result of a measurement. Its JSON is described in docs/bench.md.
type Report struct {
	Time        time.Time `json:"time"`        // when it was measured, in UTC
	Engine      string    `json:"engine"`      // the engine with its version
	Driver      string    `json:"driver"`      // what --driver named
	Rows        int       `json:"rows"`        // what --rows asked for
	Rounds      int       `json:"rounds"`      // what --rounds asked for
	Seconds     float64   `json:"seconds"`     // what --time asked for
	Connections []int     `json:"connections"` // what --connections asked for

	// Layouts are one object for each layout, with its key, the seconds and their ratio for
	// all rows, slows (the last quarter compared with the first), table_bytes and index_bytes.
	// refused says why keyfill makes no such keys on this engine; the figures are left out then.
	Layouts []*layoutLine `json:"layouts"`
	// Ways are one object for each way and number of connections, with way, connections,
	// rows_a_second, ratio, retries and refused.
	Ways []*wayLine `json:"ways"`

	layouts []*layoutLine // the results in the order of bench.layouts
}

// layoutLine is the result of measuring a layout.
type layoutLine struct {
	Key     string          `json:"key"`
	Seconds *stats.Estimate `json:"seconds,omitempty"` // the time to store the rows
	Ratio   *stats.Estimate `json:"ratio,omitempty"`   // Seconds divided by the seconds of the engine's own key in the same round
	Slows   *stats.Estimate `json:"slows,omitempty"`   // the time of the last quarter of the rows divided by the time of the first quarter
	Table   int64           `json:"table_bytes,omitempty"`
	Indexes int64           `json:"index_bytes,omitempty"`
	Refused string          `json:"refused,omitempty"`

	seconds, slows []float64 // by round
	refusal        error
}

// filled is the result of filling one table, with the bytes of the table and its indexes.
type filled struct {
	measure.Filled
	table, indexes int64
}

func (l *layoutLine) add(f filled) {
	l.seconds = append(l.seconds, f.Took.Seconds())
	l.slows = append(l.slows, f.Last.Seconds()/max(f.First.Seconds(), 1e-9))
	l.Table, l.Indexes = f.table, f.indexes
}

// wayLine is the result of measuring a way to make keys over a number of connections.
type wayLine struct {
	Way         string          `json:"way"`
	Connections int             `json:"connections"`
	Rate        *stats.Estimate `json:"rows_a_second,omitempty"`
	Ratio       *stats.Estimate `json:"ratio,omitempty"` // the rate divided by the rate of identity in the same round
	Retries     int64           `json:"retries"`
	Refused     string          `json:"refused,omitempty"`

	name    string
	rates   []float64 // by round
	refusal error
}

func (w *wayLine) add(r inserted) {
	w.rates = append(w.rates, r.rate)
	w.Retries += r.retries
}

func newReport(b *bench) *Report {
	f := b.options
	r := &Report{Time: time.Now().UTC().Truncate(time.Second), Driver: f.Driver, Rows: f.Rows, Rounds: f.Rounds,
		Seconds: f.Time.Seconds(), Connections: f.Connections, Ways: []*wayLine{}}
	for _, l := range b.layouts {
		r.Layouts = append(r.Layouts, &layoutLine{Key: l.Name})
	}
	r.layouts = r.Layouts
	if f.Time > 0 {
		for _, m := range b.methods {
			for _, n := range f.Connections {
				r.Ways = append(r.Ways, &wayLine{Way: m.Title, Connections: n, name: m.Name})
			}
		}
	}
	return r
}

// way returns the result of the method with index i over a number of connections.
func (r *Report) way(i, connections int) *wayLine {
	return r.Ways[i*len(r.Connections)+slices.Index(r.Connections, connections)]
}

// compare computes the estimates. Each ratio compares figures of the same round, so that a
// machine that is slower for a while slows both.
func (r *Report) compare() {
	estimate := func(samples []float64) *stats.Estimate {
		e := stats.Of(samples)
		return &e
	}
	own := r.layout(measure.Own)
	for _, l := range r.Layouts {
		if l.refusal != nil {
			l.Refused = l.refusal.Error()
			continue
		}
		l.Seconds, l.Slows = estimate(l.seconds), estimate(l.slows)
		l.Ratio = estimate(stats.Ratios(l.seconds, own.seconds))
	}
	for _, w := range r.Ways {
		if w.refusal != nil {
			w.Refused = w.refusal.Error()
			continue
		}
		w.Rate = estimate(w.rates)
		if beside := r.find(measure.Identity, w.Connections); beside.refusal == nil {
			w.Ratio = estimate(stats.Ratios(w.rates, beside.rates))
		}
	}
}

func (r *Report) layout(key string) *layoutLine {
	return r.Layouts[slices.IndexFunc(r.Layouts, func(l *layoutLine) bool { return l.Key == key })]
}

func (r *Report) find(name string, connections int) *wayLine {
	return r.Ways[slices.IndexFunc(r.Ways, func(w *wayLine) bool { return w.name == name && w.Connections == connections })]
}

// noise returns by how many percent a key that was measured twice differs from itself, in
// the round in which it differs most.
func noise(ratio *stats.Estimate) float64 {
	if ratio == nil {
		return 0
	}
	return 100 * max(ratio.High-1, 1-ratio.Low)
}

// layoutVerdict returns a sentence that names the fastest key. If this run cannot distinguish
// it from others, the sentence names all of these and none as the fastest.
func (r *Report) layoutVerdict() string {
	var best *layoutLine
	for _, l := range r.Layouts {
		if l.Ratio != nil && l.Key != measure.Own && l.Key != measure.OwnAgain && (best == nil || l.Ratio.Median < best.Ratio.Median) {
			best = l
		}
	}
	if best == nil {
		return "keyfill makes no key of these on this database."
	}
	width := 1 + noise(r.layout(measure.OwnAgain).Ratio)/100
	var as []string
	for _, l := range r.Layouts {
		if l.Ratio != nil && l != best && l.Key != measure.Own && l.Key != measure.OwnAgain &&
			(l.Ratio.Low <= best.Ratio.High || l.Ratio.Median <= best.Ratio.Median*width) {
			as = append(as, l.Key)
		}
	}
	if len(as) > 0 {
		return fmt.Sprintf("Of the keys that keyfill makes, this run cannot distinguish the fastest one of %s. Measure more rounds than --rounds %d.",
			strings.Join(append([]string{best.Key}, as...), "; "), r.Rounds)
	}
	return fmt.Sprintf("Of the keys that keyfill makes, %s is stored fastest: %s times the time of the engine's own.", best.Key, times(best.Ratio))
}

// noiseVerdict returns a sentence that says which differences between keys are too small to
// mean anything.
func (r *Report) noiseVerdict() string {
	text := fmt.Sprintf("The engine's own key, measured twice, differs from itself by up to %.0f %%: a smaller difference says nothing.",
		noise(r.layout(measure.OwnAgain).Ratio))
	if r.Rounds < 6 {
		text += " Of fewer than six rounds the spread is the least and the greatest figure, and more rounds show more."
	}
	return text
}

// wayNoise returns a sentence that says which differences between ways to make keys are too
// small to mean anything.
func (r *Report) wayNoise() string {
	most := 0.0
	for _, n := range r.Connections {
		most = max(most, noise(r.find(identityAgain, n).Ratio))
	}
	return fmt.Sprintf("Identity, measured twice, differs from itself by up to %.0f %%: a smaller difference says nothing.", most)
}

// times returns a ratio (how many times as much as the compared figure) with its spread, as
// text.
func times(e *stats.Estimate) string {
	if e == nil {
		return "-"
	}
	if e.Low == e.High {
		return fmt.Sprintf("%.2f", e.Median)
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", e.Median, e.Low, e.High)
}

// WriteJSON writes the report as one line of JSON.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// WriteText writes the report as tables of text. It returns no error: w must remember the
// first error of a write, as a bufio.Writer does.
func (r *Report) WriteText(w io.Writer) {
	fmt.Fprintf(w, "%s by the driver %s, %s\n\n", r.Engine, r.Driver, r.Time.Format("2006-01-02 15:04 UTC"))
	for _, line := range slices.Concat(terminal.Wrap(r.layoutVerdict(), terminal.LineWidth), terminal.Wrap(r.noiseVerdict(), terminal.LineWidth)) {
		fmt.Fprintln(w, line)
	}
	fmt.Fprintf(w, "\n%s rows a table, up to 500 a statement, one connection, %s\n\n", terminal.Grouped(r.Rows), rounds(r.Rounds))
	printColumns(w, r.layoutTable())
	for _, l := range r.Layouts {
		if l.Refused != "" {
			fmt.Fprintf(w, "%s was not measured: %s\n", l.Key, l.Refused)
		}
	}
	if len(r.Ways) == 0 {
		return
	}
	fmt.Fprintf(w, "\nRows a second, and as a multiple of identity's; one row a transaction, %v s each, %s\n\n", r.Seconds, rounds(r.Rounds))
	printColumns(w, r.wayTable())
	fmt.Fprintf(w, "\n%s\n", r.wayNoise())
	seen := ""
	for _, l := range r.Ways {
		if l.Refused != "" && l.Way != seen {
			seen = l.Way
			fmt.Fprintf(w, "%s was not measured: %s\n", l.Way, l.Refused)
		}
	}
}

func rounds(n int) string {
	if n == 1 {
		return "1 round"
	}
	return fmt.Sprintf("%d rounds", n)
}

// printColumns writes rows in aligned columns; the first row is the head.
func printColumns(w io.Writer, rows [][]string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, row := range rows {
		fmt.Fprintln(t, strings.Join(row, "\t"))
	}
	_ = t.Flush() // an error is ignored here, since w remembers it
}

// layoutTable returns the table of the layouts, its head first.
func (r *Report) layoutTable() [][]string {
	rows := [][]string{{"key", "seconds", "times the engine's own", "last/first quarter", "table", "indexes"}}
	for _, l := range r.Layouts {
		if l.Seconds == nil {
			continue
		}
		size, indexes := "-", "-"
		if l.Table > 0 {
			size, indexes = megabytes(l.Table), megabytes(l.Indexes)
		}
		rows = append(rows, []string{l.Key, fmt.Sprintf("%.2f", l.Seconds.Median), times(l.Ratio), fmt.Sprintf("%.2f", l.Slows.Median), size, indexes})
	}
	return rows
}

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }

// wayTable returns the table of the ways to make keys, its head first.
func (r *Report) wayTable() [][]string {
	head := []string{"way"}
	for _, n := range r.Connections {
		head = append(head, connectionsText(n), "of identity", "retries")
	}
	rows := [][]string{head}
	for way := range slices.Chunk(r.Ways, len(r.Connections)) {
		row := []string{way[0].Way}
		for _, w := range way {
			if w.Rate == nil {
				row = append(row, "-", "-", "-")
				continue
			}
			row = append(row, terminal.Grouped(int(w.Rate.Median)), times(w.Ratio), fmt.Sprint(w.Retries))
		}
		rows = append(rows, row)
	}
	return rows
}

func connectionsText(n int) string {
	if n == 1 {
		return "1 connection"
	}
	return fmt.Sprintf("%d connections", n)
}
