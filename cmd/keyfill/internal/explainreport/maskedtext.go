package explainreport

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// maskedText returns a statement without the values that users have written into it.
// Strings become '…' and numbers 0; comments are removed, and so is a string that is not
// closed, with the text after it. Names of tables and columns stay. On MySQL and MariaDB
// "…" is a string.
func maskedText(d *dialect.Dialect, text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		kind, end := scan.NextToken(d, text, at)
		switch piece := text[at:end]; kind {
		case scan.String:
			b.WriteString("'…'")
		case scan.Comment:
			b.WriteByte(' ')
		case scan.Executable, scan.Broken:
			b.WriteString("…")
		case scan.Space:
			b.WriteByte(' ')
		case scan.Quoted:
			b.WriteString(piece)
		case scan.Word:
			if piece[0] >= '0' && piece[0] <= '9' {
				piece = "0" // a number in a form that this engine does not have
			}
			b.WriteString(piece)
		default:
			if c := piece[0]; c >= '0' && c <= '9' || c == '.' && len(piece) > 1 {
				piece = "0"
			}
			b.WriteString(piece)
		}
		at = end
	}
	return strings.Join(strings.Fields(b.String()), " ")
}

// maxExample is how many bytes of a statement an example has at most.
const maxExample = 300

// example returns a statement as an example: in one line, and not longer than maxExample.
func example(d *dialect.Dialect, text string, literals bool) string {
	if !literals {
		text = maskedText(d, text[:min(len(text), 16*maxExample)])
	} else {
		text = strings.Join(strings.Fields(text[:min(len(text), 16*maxExample)]), " ")
	}
	if len(text) > maxExample {
		text = strings.ToValidUTF8(text[:maxExample], "") + " …"
	}
	return text
}
