package vet

import (
	"strings"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// standIn replaces an unknown part where a name or a value may stand.
const standIn = "kf_unknown"

// completions are the texts that are tried instead of an unknown part, until the text
// becomes a whole INSERT. They are tried only if the text before the part does not show
// what belongs there.
var completions = []string{
	"", "VALUES (1)", "(" + standIn + ") VALUES (1)", "SELECT 1", standIn, "(1)", ") VALUES (1)", standIn + ") VALUES (1)", "1)", "DEFAULT VALUES",
}

// complete finds the INSERT of which a text is a part. It reports false if there is none.
func (j *Judge) complete(t *gosql.Text) (inserts, bool) {
	if words.Concerns(j.dialect, t.SQL())&words.ConcernsInsert == 0 {
		return inserts{}, false
	}
	var mistake inserts
	for _, c := range completions {
		found := j.probe(completed(t, c))
		if found.kind == isInsert {
			return found, true
		}
		if mistake.kind == isNone {
			mistake = found
		}
	}
	// If the text is executed and begins as an INSERT, it is one, perhaps of another engine.
	return mistake, t.Sent && (mistake.kind != isNone || beginning.MatchString(t.SQL()))
}

// completed returns a text in which other texts replace the unknown parts. If the text may
// be only the beginning of an INSERT, completion is added at its end.
func completed(t *gosql.Text, completion string) string {
	var b strings.Builder
	for _, p := range t.Parts {
		if p.Unknown == "" {
			b.WriteString(p.SQL)
			continue
		}
		if s := standInBehind(b.String()); s != "" {
			b.WriteString(s)
		} else {
			b.WriteString(completion)
		}
	}
	if t.Parts[len(t.Parts)-1].Unknown == "" && (t.Piece || t.Known()) {
		b.WriteString(" " + completion)
	}
	return b.String()
}

// standInBehind returns a text that the syntax requires after before; empty if before does
// not show what has to follow.
func standInBehind(before string) string {
	trimmed := strings.TrimRight(before, " \t\r\n")
	if trimmed == "" {
		return ""
	}
	last := trimmed[len(trimmed)-1]
	switch {
	case strings.IndexByte("$:@", last) >= 0:
		return "1"
	case strings.IndexByte("(,='\"`[.", last) >= 0:
		return standIn
	}
	word := strings.ToUpper(trimmed[strings.LastIndexAny(trimmed, " \t\r\n()")+1:])
	switch word {
	case "VALUES", "VALUE":
		return "(1)"
	case "INTO", "REPLACE", "UPDATE", "SET":
		return standIn
	}
	if len(trimmed) == len(before) && isNamePart(last) {
		return standIn // the rest of a name is unknown
	}
	return ""
}

func isNamePart(c byte) bool {
	return c == '_' || c >= 0x80 || c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}
