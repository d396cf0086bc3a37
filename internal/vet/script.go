package vet

import (
	"fmt"
	"go/token"
	"io"
	"regexp"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/sqlscript"
)

// Script is the content of a file of SQL.
type Script struct {
	Findings []Finding
	Queries  []string // the names that sqlc gives to the statements of the file
}

// Script returns the findings about the INSERTs of a file of SQL, statement by statement. A
// comment before a statement may be a directive, as in
//
//	-- keyfill:ignore refused the archive has its own keys
//
// If ofSqlc is true, the parameters that sqlc defines are read as the placeholders that
// sqlc replaces them with.
func (j *Judge) Script(name string, r io.Reader, ofSqlc bool) (Script, error) {
	var s Script
	for statement, err := range sqlscript.Statements(j.dialect, r) {
		if err != nil {
			return s, fmt.Errorf("%s: %w", name, err)
		}
		at := token.Position{Filename: name, Line: statement.Line, Offset: int(statement.Offset)}
		text := statement.Text
		if ofSqlc {
			text = j.withoutSqlc(text)
		}
		if m := sqlcName.FindStringSubmatch(statement.Comments); m != nil {
			s.Queries = append(s.Queries, m[1])
		}
		var found []Finding
		if o, ok := j.Statement(text); ok {
			found = append(found, FindingOf(o))
		}
		if f, ok := j.Reads(text); ok {
			found = append(found, f)
		}
		for _, c := range scriptComments(statement.Comments) {
			for i := range found {
				c.Apply(&found[i])
			}
			if told, ok := c.Told(); ok {
				found = append(found, told)
			}
		}
		for _, f := range found {
			f.At, f.End = at, at
			s.Findings = append(s.Findings, f)
		}
	}
	return s, nil
}

// scriptComments returns the directives in the comments before a statement of a script.
func scriptComments(comments string) (all []*Comment) {
	for line := range strings.Lines(comments) {
		text, ok := strings.CutPrefix(strings.TrimSpace(line), "--")
		if !ok {
			continue
		}
		if c, ok := ReadComment(strings.TrimSpace(text)); ok {
			all = append(all, &c)
		}
	}
	return all
}

// sqlcName matches the name of a query:
// https://docs.sqlc.dev/en/stable/reference/query-annotations.html.
var sqlcName = regexp.MustCompile(`(?m)^\s*(?:--|/\*|#)\s*name:\s*(\w+)\s+:`)

// QueryName returns the name that sqlc gives to a query whose text begins with sqlc's
// annotation; empty for any other text.
func QueryName(text string) string {
	m := sqlcName.FindStringSubmatchIndex(text)
	if m == nil || strings.TrimSpace(text[:m[0]]) != "" {
		return ""
	}
	return text[m[2]:m[3]]
}

// withoutSqlc returns a query of sqlc with placeholders instead of its parameters
// sqlc.arg(x), sqlc.narg(x), sqlc.slice(x) and, except on MySQL and MariaDB, @x. The text
// keeps its length.
func (j *Judge) withoutSqlc(text string) string {
	var b strings.Builder
	for at := 0; at < len(text); {
		kind, end := scan.NextToken(j.dialect, text, at)
		if end <= at {
			b.WriteString(text[at:])
			break
		}
		length := 0
		switch {
		case kind == scan.Word:
			length = len(sqlcCall.FindString(text[at:]))
		case text[at] == '@' && !j.dialect.Lexis.UserVariables:
			length = len(sqlcAt.FindString(text[at:]))
		}
		if length == 0 {
			b.WriteString(text[at:end])
			at = end
			continue
		}
		placeholder := j.dialect.Placeholder(1)
		b.WriteString(placeholder + strings.Repeat(" ", length-len(placeholder)))
		at += length
	}
	return b.String()
}

var (
	sqlcCall = regexp.MustCompile(`^(?i:sqlc)\s*\.\s*(?i:arg|narg|slice)\s*\(\s*['"]?\w+['"]?\s*\)`)
	sqlcAt   = regexp.MustCompile(`^@\w+`)
)
