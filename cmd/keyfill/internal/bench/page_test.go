package bench

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/drawing"
	"github.com/keyfill/keyfill/internal/measure"
	"github.com/keyfill/keyfill/internal/testbrowser"
)

// sampleReport returns a report with figures of all kinds.
func sampleReport() *Report {
	o := &Options{Driver: "pgx", Rows: 100_000, Rounds: 3, Connections: []int{1, 8}, Time: time.Second}
	b := &bench{options: o, dialect: dialect.PostgreSQL(), layouts: measure.Layouts(), methods: Methods(measure.Layouts())}
	r := newReport(b)
	r.Engine, r.Time = "PostgreSQL <15.4>", time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	slow := map[string]float64{measure.Own: 1, measure.OwnAgain: 1, measure.V7: 1.3, "block": 1.1, "uuidv4, 16 bytes": 14.2, "coprime of 6": 8.8}
	for i, l := range r.layouts {
		factor := slow[l.Key]
		if factor == 0 {
			factor = 1.5
		}
		for _, round := range []float64{0, -1, 1} {
			spread := 0.05 * round
			if l.Key == measure.Own {
				spread = 0
			} else if l.Key != measure.V7 {
				spread *= 2
			}
			l.seconds, l.slows = append(l.seconds, factor+spread), append(l.slows, 1+spread)
		}
		l.Table, l.Indexes = 2_000_000, int64(i)*1_000_000
	}
	for i, w := range r.Ways {
		if w.name == "composite" {
			w.refusal = errors.New("because")
			continue
		}
		base := 1000.
		if w.name != measure.Identity {
			base = 1200 * float64(1+i%2*4)
		}
		w.rates, w.Retries = []float64{base, base - 100, base + 100}, int64(i)
		if w.name == measure.Identity {
			w.rates = []float64{1000, 1000, 1000}
		}
	}
	r.compare()
	return r
}

// TestBenchPage: the page asks for nothing, keeps to its Content-Security-Policy, is no
// wider than the screen of a phone, and is dark where the reader wants that.
func TestBenchPage(t *testing.T) {
	browser := testbrowser.Start(t)
	path := filepath.Join(t.TempDir(), "bench.html")
	page, err := NewPageFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := page.Write(sampleReport()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "PostgreSQL &lt;15.4&gt;") {
		t.Error("the engine's name is not escaped")
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(text) }))
	defer server.Close()
	grounds := map[bool]string{}
	for name, view := range map[string]testbrowser.View{
		"phone":      {Width: 360, Height: 740, Phone: true},
		"phone-dark": {Width: 360, Height: 740, Phone: true, Dark: true},
		"desk":       {Width: 1280, Height: 900},
	} {
		p := browser.Open(t, server.URL, view)
		var seen struct {
			Width, Drawings, Tables, Letters float64
			Ground, Ink                      string
			Cut                              []string
		}
		p.Eval(t, `({Width: document.documentElement.scrollWidth, Drawings: document.querySelectorAll("svg").length,
			Tables: document.querySelectorAll("tbody tr").length, Ground: getComputedStyle(document.body).backgroundColor,
			Ink: getComputedStyle(document.querySelector("svg .value")).fill,
			Letters: document.querySelector("svg .value").getBoundingClientRect().height,
			Cut: [...document.querySelectorAll("th, td")].filter(e => e.getBoundingClientRect().right > innerWidth).map(e => e.textContent)})`, &seen)
		if len(seen.Cut) > 0 {
			t.Errorf("%s: the screen ends before the figures %q", name, seen.Cut)
		}
		if seen.Width > float64(view.Width) {
			t.Errorf("%s: the page is %v wide, and the screen %d", name, seen.Width, view.Width)
		}
		if seen.Drawings != 4 || seen.Tables != float64(len(measure.Layouts())+len(Methods(measure.Layouts()))) {
			t.Errorf("%s: %v drawings and %v rows", name, seen.Drawings, seen.Tables)
		}
		if seen.Letters < 11 || seen.Ground == seen.Ink {
			t.Errorf("%s: figures are %v high, %s on %s", name, seen.Letters, seen.Ink, seen.Ground)
		}
		if asked := p.Requests(); len(asked) != 1 || len(p.Messages()) > 0 {
			t.Errorf("%s: asked for %q, complaints %q", name, asked, p.Messages())
		}
		grounds[view.Dark] = seen.Ground
		if folder := os.Getenv("KEYFILL_TEST_SCREENSHOTS"); folder != "" {
			if err := os.WriteFile(filepath.Join(folder, "bench-"+name+".png"), p.Screenshot(t), 0o644); err != nil {
				t.Error(err)
			}
		}
	}
	if grounds[true] == grounds[false] {
		t.Errorf("the ground is %s, dark or not", grounds[true])
	}
}

// TestBenchText: the tables have each layout and each way, and the verdicts what the
// figures say.
func TestBenchText(t *testing.T) {
	r := sampleReport()
	var b strings.Builder
	r.WriteText(&b)
	for _, part := range []string{
		"Of the keys that keyfill makes, block is stored fastest: 1.10 (1.00 to 1.20) times the",
		"measured twice, differs from itself by up to 10 %",
		"uuidv7, 16 bytes ", "1.30 (1.25 to 1.35)", "2.0 MB",
		"composite was not measured: because",
		"Identity, measured twice, differs from itself by up to 510 %",
		"1 connection  of identity", "1,200 ", "1.20 (1.10 to 1.30)",
	} {
		if !strings.Contains(b.String(), part) {
			t.Errorf("the text lacks %q:\n%s", part, b.String())
		}
	}
	for _, d := range []drawing.Bars{r.timeBars(), r.sizeBars(), r.wayBars(1)} {
		if misfits := d.Misfits(); misfits != nil {
			t.Errorf("%s: %q", d.Title, misfits)
		}
	}
}

// TestNoWinner: where a run cannot distinguish the fastest key from another one, the verdict
// names no winner, and asks for more rounds.
func TestNoWinner(t *testing.T) {
	for name, c := range map[string]struct {
		v7, again float64 // the time of another key, and of the engine's own when it was measured again
		winner    bool
	}{
		"far apart":               {1.3, 1, true},
		"their spreads meet":      {1.16, 1, false},
		"within the run's noise":  {1.3, 1.2, false},
		"the other one is faster": {1, 1, true},
	} {
		r := sampleReport()
		for _, l := range r.layouts {
			switch l.Key {
			case measure.V7:
				l.seconds = []float64{c.v7, c.v7 - 0.05, c.v7 + 0.05}
			case measure.OwnAgain:
				l.seconds = []float64{c.again, c.again, c.again}
			case "block":
				l.seconds = []float64{1.1, 1.08, 1.12}
			}
		}
		r.compare()
		verdict := r.layoutVerdict()
		if strings.Contains(verdict, " is stored fastest") != c.winner {
			t.Errorf("%s: %s", name, verdict)
		}
		if want := "cannot distinguish the fastest one of block; uuidv7, 16 bytes. Measure more rounds than --rounds 3."; !c.winner && !strings.Contains(verdict, want) {
			t.Errorf("%s: %s\nlacks %q", name, verdict, want)
		}
	}
}
