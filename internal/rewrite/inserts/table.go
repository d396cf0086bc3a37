package inserts

import (
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/effects"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/internal/rewrite/reader"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/rewrite"
)

// mentionLimit is the greatest length in bytes of a quoted name that Mentioned finds.
const mentionLimit = 512

// Mentioned returns the first configured table whose name is anywhere in the text,
// strings and comments included; nil if there is none. It is for texts whose tokens are
// uncertain.
func Mentioned(p *plans.Draft, text string) *plans.Target {
	s := scan.Scanner{Dialect: p.Dialect, Text: text}
	before := ""
	found := func(word string, k scan.Kind) *plans.Target {
		n := p.Fold(word, k, '\\')
		if p.Dialect.ExactTables {
			n = p.Exact(word, k)
		}
		t := p.Lookup("", n)
		if t == nil {
			t = p.Lookup(before, n)
		}
		before = n
		return t
	}
	for s.Pos < len(text) {
		start := s.Pos
		c := text[start]
		end := strings.IndexByte("\"`[", c)
		if end >= 0 {
			end = strings.IndexByte(text[start+1:min(len(text), start+mentionLimit)], "\"`]"[end])
		}
		s.Pos++
		switch {
		case end >= 0:
			if t := found(text[start:start+end+2], scan.Quoted); t != nil {
				return t
			}
		case s.IsPart(c):
			if t := found(text[start:s.WordEnd()], scan.Word); t != nil {
				return t
			}
		}
	}
	return nil
}

// mentionedAnywhere returns the result of [Mentioned] for the whole text, which it
// searches only once.
func mentionedAnywhere(p *plans.Draft) *plans.Target {
	if !p.Tables.HasSearched {
		p.Tables.HasSearched, p.Tables.MentionedTable = true, Mentioned(p, p.Text)
	}
	return p.Tables.MentionedTable
}

// IsMade reports whether n names a temporary table that the text has made before.
func IsMade(p *plans.Draft, n reader.Name) bool {
	return slices.ContainsFunc(p.Tables.MadeTables[n.Table], func(m reader.Name) bool {
		return (n.Schema == m.Schema || slices.Contains(effects.Temporaries, n.Schema)) &&
			(!p.Dialect.Grammar.TableCase || bare(&p.Reader, m) == bare(&p.Reader, n))
	})
}

// bare returns the last part of the name as written, without quotes. The result is only
// used to compare names.
func bare(p *reader.Reader, n reader.Name) string {
	text := p.Text[n.Start:n.End]
	return strings.Trim(text[strings.LastIndexByte(text, '.')+1:], "` ")
}

// mayBeMade reports whether a name may mean a temporary table that the text has made
// before.
func mayBeMade(p *plans.Draft, n reader.Name) bool {
	if !p.Tables.MaybeMade[n.Table] {
		return false
	}
	// The schema of the session's temporary tables has another name too: PostgreSQL 18,
	// "CREATE SCHEMA", pg_temp_3.
	return n.Schema == "" || !p.Dialect.Grammar.TempSchema || slices.Contains(effects.Temporaries, n.Schema) ||
		strings.HasPrefix(n.Schema, "pg_temp")
}

// Target returns the configured table that a name means at this place in the text; nil if
// it means none. If it returns a reason, the table is uncertain, and no key can be filled.
func Target(p *plans.Draft, n reader.Name) (*plans.Target, rewrite.Reason) {
	t := p.Lookup(n.Schema, n.Table)
	if t == nil {
		return nil, ""
	}
	made := IsMade(p, n)
	if !made && mayBeMade(p, n) {
		return t, rewrite.ErrSeveral
	}
	if p.Tables.Standing == nil {
		if made {
			t = nil
		}
		return t, ""
	}
	s := p.Tables.Standing(plans.TableName{Schema: n.Schema, Table: n.Table, Text: p.Text[n.Start:n.End]})
	switch {
	case made && s == plans.ByPath && n.Schema == "", !made && p.Tables.MovedTables && s != plans.IsConfigured && s != plans.Unasked:
		return t, rewrite.ErrSeveral
	case made, s == plans.IsTemporary:
		return nil, ""
	case s == plans.Unasked:
		return t, rewrite.ErrReadsCount
	}
	return t, ""
}
