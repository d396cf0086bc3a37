package plans

import (
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
)

// spelling returns how added placeholders are spelled: like the caller's own with the next
// higher numbers, or with a name that the text does not hold. It reports false if the
// caller mixes styles.
func (p *Draft) spelling() (reader.Spelling, bool) {
	ps, d := &p.Params, p.Dialect
	switch {
	case p.Streams:
		return reader.Spelling{Style: reader.StylePosition, Base: -1}, true
	case ps.Mixed:
		return reader.Spelling{}, false
	case ps.Count == 0:
		return unnumbered(d), true
	case d.Params.ByPosition && ps.Styles&reader.StyleName != 0:
		return reader.Spelling{Style: reader.StylePosition | reader.StyleName, Open: p.Unused(":kf")}, true
	case d.Params.ByPosition && d.Params.Colon:
		return reader.Spelling{Style: reader.StylePosition, Open: ":", Base: ps.Max}, true
	case ps.Styles == reader.StylePosition:
		return reader.Spelling{Style: reader.StylePosition, Open: "?", Base: -1}, true
	case ps.Styles == reader.StyleNumber:
		return reader.Spelling{Style: reader.StyleNumber, Open: ps.Sigil, Base: ps.Max}, true
	case ps.Styles == reader.StyleName:
		return reader.Spelling{Style: reader.StyleName, Open: p.Unused(ps.Sigil + "kf")}, true
	}
	return reader.Spelling{}, false
}

// unnumbered returns how added placeholders are spelled in a text that has none.
func unnumbered(d *dialect.Dialect) reader.Spelling {
	switch {
	case d.Params.Question:
		return reader.Spelling{Style: reader.StylePosition, Open: "?", Base: -1}
	case d.Params.Dollar:
		return reader.Spelling{Style: reader.StyleNumber, Open: "$"}
	case d.Params.AtNumber:
		return reader.Spelling{Style: reader.StyleNumber, Open: "@p"}
	}
	return reader.Spelling{Style: reader.StylePosition, Open: ":"}
}
