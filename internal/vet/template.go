package vet

import (
	"regexp"
	"strings"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

// action and verb match parts of a template that are known only when the program runs: an
// action of text/template, and a verb of fmt.
var (
	action = regexp.MustCompile(`(?s)^\{\{.*?\}\}`)
	verb   = regexp.MustCompile(`^%(?:\[\d+\])?[sdvq]\b`)
)

// template returns a text in which each action of text/template and each verb of fmt (a
// gap) is an unknown part; nil if the text has no gap. A verb is a gap only if no known
// call executes the text as it is: a function of the program may format it. Inside a string
// literal of the SQL neither is a gap.
func (j *Judge) template(t *gosql.Text) *gosql.Text {
	if !t.Known() || t.Piece {
		return nil
	}
	query := t.SQL()
	if !strings.Contains(query, "{{") && (t.Sent || !strings.Contains(query, "%")) || words.Concerns(j.dialect, query)&words.ConcernsInsert == 0 {
		return nil
	}
	found := &gosql.Text{Expr: t.Expr, Sent: t.Sent}
	known := 0 // the offset at which the current known part begins
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

// gapOf returns the length of the gap that a text begins with; zero if it begins with none.
// token is the text's first token, and kind its kind. A quoted name that has a gap in it is
// a gap as a whole.
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
