package audit

import (
	"fmt"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
)

// addStranger counts a row, or a cancelled number, whose text belongs to no numbering. Equal
// texts come one after the other.
func (p *reading) addStranger(text string, void bool) error {
	if p.strangers && text != p.strange {
		if err := p.tellStranger(); err != nil {
			return err
		}
	}
	p.strangers, p.strange = true, text
	if !void {
		p.strangeRows++
	}
	return nil
}

// maxShownText is how many bytes of a text that belongs to no numbering are shown.
const maxShownText = 100

// tellStranger reports the text that was counted last.
func (p *reading) tellStranger() error {
	if !p.strangers {
		return nil
	}
	shown := strings.ToValidUTF8(p.strange[:min(len(p.strange), maxShownText)], "?")
	rows := terminal.Count(int(p.strangeRows), "row")
	if p.strangeRows == 0 {
		rows = "cancelled"
	}
	f := Finding{Rule: ruleText, Severity: severityError, Parent: p.named(p.within), FromText: shown, ToText: shown, Rows: p.strangeRows,
		Message: fmt.Sprintf("%q is no text of %s (%s)", shown, p.written(), rows)}
	p.strangers, p.strangeRows = false, 0
	return p.found(f)
}

// written returns the templates as findings name them.
func (p *reading) written() string {
	if len(p.templates) == 1 {
		return p.templates[0].String()
	}
	return fmt.Sprintf("%s, or of its period's template", p.templates[0])
}
