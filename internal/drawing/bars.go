// Package drawing draws bar charts as SVG, which need no font, no script and no other file.
package drawing

import (
	"fmt"
	"html"
	"strings"
)

// Bars is a drawing of horizontal bars, all of which begin at 0.
type Bars struct {
	Title  string
	Note   string // lines below the title
	Groups []Group
}

// Group is a number of bars below one title.
type Group struct {
	Title string // empty if the drawing has one group
	Bars  []Bar
}

// Bar is one figure of a drawing.
type Bar struct {
	Label, Text string
	Value       float64
	Low, High   float64 // the spread of the figure, drawn as a line; both 0 if it has none
	Other       bool    // whether the figure belongs to something other than keyfill, so that the bar has another colour
}

// The sizes of a drawing, in units of which a phone shows one with about 0.9 pixels. A
// letter of the text is on average less wide than letterWidth.
const (
	width       = 400
	labelEnd    = 158
	barsEnd     = 332
	lineHeight  = 22
	letterWidth = 7
)

// Style is the style sheet for drawings within a page; see [Bars.Inline].
const Style = `text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:15px}.group{font-weight:600}.label{text-anchor:end}.note{font-size:12px;fill:#59636e}
.ground{fill:#fff}.bar{fill:#0969da}.other{fill:#9aa4af}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.note{fill:#9198a1}.ground{fill:#0d1117}.bar{fill:#4493f8}.other{fill:#6e7681}}
`

// SpreadStyle is the style sheet for bars with a spread, in addition to [Style].
const SpreadStyle = `.spread{stroke:#1f2328;stroke-width:1.5}
@media (prefers-color-scheme:dark){.spread{stroke:#f0f6fc}}
`

// SVG returns the drawing as a file.
func (c Bars) SVG() string { return c.svg("<style>\n" + Style + "</style>\n") }

// Inline returns the drawing for a page that has [Style], and [SpreadStyle] if a bar has a
// spread.
func (c Bars) Inline() string { return c.svg("") }

func (c Bars) svg(style string) string {
	most := c.most()
	scale := func(value float64) float64 { return value / most * (barsEnd - labelEnd - 8) }
	var b strings.Builder
	y := 26
	text := func(class string, x, y int, s string) {
		fmt.Fprintf(&b, "<text class=%q x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, html.EscapeString(s))
	}
	text("title", 12, y, c.Title)
	for _, line := range strings.Split(c.Note, "\n") {
		y += 18
		text("note", 12, y, line)
	}
	y += 10
	for _, g := range c.Groups {
		if g.Title != "" {
			y += 26
			text("group", 12, y, g.Title)
			y += 6
		}
		for _, one := range g.Bars {
			class := "bar"
			if one.Other {
				class = "other"
			}
			long := max(1, scale(one.Value))
			text("label", labelEnd, y+16, one.Label)
			fmt.Fprintf(&b, "<rect class=%q x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" rx=\"2\"/>\n", class, labelEnd+8, y+4, long)
			if one.High > one.Low {
				fmt.Fprintf(&b, "<line class=\"spread\" x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\"/>\n",
					labelEnd+8+scale(one.Low), y+11, labelEnd+8+scale(one.High), y+11)
			}
			text("value", labelEnd+8+int(max(long, scale(one.High)))+6, y+16, one.Text)
			y += lineHeight
		}
	}
	height := y + 14
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n<title>%s</title>\n",
		width, height, width*5/4, height*5/4, html.EscapeString(c.Title)) +
		style + fmt.Sprintf("<rect class=\"ground\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", width, height) + b.String() + "</svg>\n"
}

// most returns the greatest figure, including its spread.
func (c Bars) most() float64 {
	most := 0.0
	for _, g := range c.Groups {
		for _, b := range g.Bars {
			most = max(most, b.Value, b.High)
		}
	}
	return most
}

// Misfits describes what cannot be read in the drawing: texts that are wider than their
// place, and bars without a figure or a label.
func (c Bars) Misfits() (all []string) {
	for _, line := range append(strings.Split(c.Note, "\n"), c.Title) {
		if float64(len(line))*6.4+24 > width {
			all = append(all, fmt.Sprintf("%q is wider than the drawing", line))
		}
	}
	for _, g := range c.Groups {
		for _, b := range g.Bars {
			if len(b.Label)*letterWidth > labelEnd {
				all = append(all, fmt.Sprintf("the label %q is too long", b.Label))
			}
			if len(b.Text)*letterWidth > width-barsEnd-6 {
				all = append(all, fmt.Sprintf("the figure %q is too long", b.Text))
			}
			if b.Value <= 0 || b.Label == "" {
				all = append(all, fmt.Sprintf("an empty bar: %+v", b))
			}
		}
	}
	return all
}
