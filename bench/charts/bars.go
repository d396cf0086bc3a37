package main

import (
	"fmt"
	"html"
	"strings"
)

// chart is a drawing of horizontal bars from 0 on.
type chart struct {
	title, note string
	groups      []group
}

// group is bars under a headline.
type group struct {
	title string // "" where the chart has one group
	bars  []bar
}

// bar is one figure.
type bar struct {
	label, text string
	value       float64
	other       bool // the figure is another's than keyfill's
}

// Measures of a drawing, in units of which a phone shows some 0.9 to a pixel. A letter of
// the text is less than letterWidth wide on average.
const (
	width       = 400
	labelEnd    = 158
	barsEnd     = 332
	lineHeight  = 22
	letterWidth = 7
)

const style = `<style>
text{font:13px system-ui,-apple-system,"Segoe UI",Roboto,sans-serif;fill:#1f2328}
.title{font-weight:600;font-size:15px}.group{font-weight:600}.label{text-anchor:end}.note{font-size:12px;fill:#59636e}
.ground{fill:#fff}.bar{fill:#0969da}.other{fill:#9aa4af}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.note{fill:#9198a1}.ground{fill:#0d1117}.bar{fill:#4493f8}.other{fill:#6e7681}}
</style>
`

// svg returns the drawing. It has no font of its own and no script.
func (c chart) svg() string {
	most := 0.0
	for _, g := range c.groups {
		for _, b := range g.bars {
			most = max(most, b.value)
		}
	}
	var b strings.Builder
	y := 26
	text := func(class string, x, y int, s string) {
		fmt.Fprintf(&b, "<text class=%q x=\"%d\" y=\"%d\">%s</text>\n", class, x, y, html.EscapeString(s))
	}
	text("title", 12, y, c.title)
	for _, line := range strings.Split(c.note, "\n") {
		y += 18
		text("note", 12, y, line)
	}
	y += 10
	for _, g := range c.groups {
		if g.title != "" {
			y += 26
			text("group", 12, y, g.title)
			y += 6
		}
		for _, one := range g.bars {
			class := "bar"
			if one.other {
				class = "other"
			}
			long := max(1, one.value/most*(barsEnd-labelEnd-8))
			text("label", labelEnd, y+16, one.label)
			fmt.Fprintf(&b, "<rect class=%q x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"14\" rx=\"2\"/>\n", class, labelEnd+8, y+4, long)
			text("value", labelEnd+8+int(long)+6, y+16, one.text)
			y += lineHeight
		}
	}
	height := y + 14
	return fmt.Sprintf("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\">\n<title>%s</title>\n",
		width, height, width*5/4, height*5/4, html.EscapeString(c.title)) +
		style + fmt.Sprintf("<rect class=\"ground\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", width, height) + b.String() + "</svg>\n"
}
