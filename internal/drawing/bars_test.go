package drawing_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/drawing"
)

func sample() drawing.Bars {
	return drawing.Bars{Title: "Time & space", Note: "one line\nanother", Groups: []drawing.Group{{Title: "MariaDB", Bars: []drawing.Bar{
		{Label: "own", Text: "1.00x", Value: 1, Other: true},
		{Label: "<b>", Text: "2.00x", Value: 2, Low: 1.5, High: 4},
	}}}}
}

// TestSVG: a file has its style, a drawing in a page does not; texts are escaped, and the
// widest figure with its spread fills the place.
func TestSVG(t *testing.T) {
	file, inline := sample().SVG(), sample().Inline()
	if !strings.Contains(file, drawing.Style) || strings.Contains(inline, "<style") {
		t.Errorf("the style stands in the wrong one:\n%s\n%s", file, inline)
	}
	for _, part := range []string{
		"Time &amp; space", "&lt;b&gt;", `<rect class="other" x="166" y="108" width="41.5"`,
		`<line class="spread" x1="228.2" y1="137" x2="332.0" y2="137"/>`,
	} {
		if !strings.Contains(inline, part) {
			t.Errorf("the drawing lacks %q:\n%s", part, inline)
		}
	}
	if strings.Count(inline, "spread") != 1 {
		t.Error("a bar without a spread has a line")
	}
}

// TestMisfits: bars that do not fit are an error.
func TestMisfits(t *testing.T) {
	if misfits := sample().Misfits(); misfits != nil {
		t.Errorf("Misfits = %q", misfits)
	}
	bad := sample()
	bad.Note = strings.Repeat("wide ", 20)
	bars := bad.Groups[0].Bars
	bars[0].Label, bars[0].Text, bars[1].Value = "a label that is much too long", "1,000,000 rows", 0
	if misfits := bad.Misfits(); len(misfits) != 4 {
		t.Errorf("Misfits = %q, want four", misfits)
	}
}
