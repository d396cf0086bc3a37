package vet

import (
	"regexp"
	"strings"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// gap finds the parts of a template that are known when the program runs: an action of
// text/template, or a verb of fmt.
var (
	action = regexp.MustCompile(`(?s)^\{\{.*?\}\}`)
	verb   = regexp.MustCompile(`^%(?:\[\d+\])?[sdvq]\b`)
)

// template returns a text with its gaps as parts that are not known; nil where it has none.
// A verb is a gap where nothing is known to execute the text as it stands: a function of
// the program may print by it. In a string both are the string's.
func (j *Judge) template(t *gosql.Text) *gosql.Text {
	if !t.Known() || t.Piece {
		return nil
	}
	query := t.SQL()
	if !strings.Contains(query, "{{") && (t.Sent || !strings.Contains(query, "%")) || words.Concerns(j.dialect, query)&words.ConcernsInsert == 0 {
		return nil
	}
	found := &gosql.Text{Expr: t.Expr, Sent: t.Sent}
	known := 0 // where the part that is known begins
	for at := 0; at < len(query); {
		kind, end := scan.NextToken(j.dialect, query, at)
		gap := gapOf(query[at:], query[at:end], kind, t.Sent)
		if gap == 0 {
			at = max(end, at+1)
			continue
		}
		if at > known {
			found.Parts = append(found.Parts, gosql.Part{SQL: query[known:at]})
		}
		found.Parts = append(found.Parts, gosql.Part{Unknown: query[at : at+gap]})
		at += gap
		known = at
	}
	if len(found.Parts) == 0 {
		return nil
	}
	if known < len(query) {
		found.Parts = append(found.Parts, gosql.Part{SQL: query[known:]})
	}
	return found
}

// gapOf returns how many bytes a gap has at the start of a text, whose first token is
// given; 0 if there is none. A quoted name with a gap in it is one.
func gapOf(text, token string, kind scan.Kind, sent bool) int {
	switch kind {
	case scan.Number, scan.Placeholder, scan.Variable, scan.Punct, scan.Broken:
		if found := action.FindString(text); found != "" {
			return len(found)
		}
		if !sent {
			return len(verb.FindString(text))
		}
	case scan.Quoted:
		if strings.Contains(token, "{{") || !sent && strings.ContainsRune(token, '%') {
			return len(token)
		}
	}
	return 0
}
