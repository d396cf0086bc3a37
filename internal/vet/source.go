package vet

import (
	"cmp"
	"go/ast"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/policy"
)

// Finding is an INSERT in source, or the report of a rule about an INSERT.
type Finding struct {
	Rule    string // the name of the rule; empty for an INSERT about which no rule reports
	Message string // what the rule reports, in a sentence or two; empty if no rule reports
	Outcome        // the outcome of the INSERT; its Action is empty if the finding is not itself an INSERT
	Text    string // the text of the INSERT, as far as it is known
	File    string // the path of the embedded file whose whole content the text is; may be empty

	At, End     token.Position
	Pos, EndPos token.Pos // the same as At and End, in a Go file
	Ignored     bool      // whether a comment turns the finding off
	Excuse      string    // the reason that the comment gives
}

// Insert reports whether the finding is an INSERT, and not only the report of a rule about
// one.
func (f *Finding) Insert() bool { return f.Action != "" }

// Source returns the INSERTs of a package, and the reports of the rules, in the order of
// the files. They include calls that execute a text of which nothing is known, with the
// rule dynamic and no action. The files must be parsed with comments for keyfill:ignore.
func (j *Judge) Source(fset *token.FileSet, s gosql.Source) []Finding {
	var all []Finding
	note := func(n ast.Node, f Finding) {
		f.Pos, f.EndPos, f.At, f.End = n.Pos(), n.End(), fset.Position(n.Pos()), fset.Position(n.End())
		all = append(all, f)
	}
	if s.Embed == nil {
		s.Embed = func(at token.Pos, name string) (string, string, bool) {
			return embedded(filepath.Dir(fset.Position(at).Filename), name)
		}
	}
	found := gosql.Find(s)
	for i := range found.Texts {
		if o, ok := j.Text(&found.Texts[i]); ok {
			f := FindingOf(o)
			f.Text, f.File = found.Texts[i].SQL(), found.Texts[i].Embedded
			note(found.Texts[i].Expr, f)
		}
		if t := &found.Texts[i]; t.Known() && !t.Piece && (t.Sent || statement.MatchString(t.SQL())) {
			if f, ok := j.Reads(j.bound(t.SQL())); ok {
				f.File = t.Embedded
				note(t.Expr, f)
			}
		}
	}
	for i := range found.Built {
		note(found.Built[i].Call, FindingOf(j.Built(&found.Built[i])))
	}
	for _, call := range found.Unknown {
		note(call.Arg, Finding{Rule: RuleDynamic, Message: "nothing is known of the text that is executed here: " +
			"see how it is treated with mode: dry_run, or by keyfill explain of a log"})
	}
	for i := range found.LastIDs {
		if o, ok := j.Text(&found.LastIDs[i].Text); ok && j.hidesKey(o) {
			note(found.LastIDs[i].Call, lastID(o))
		}
	}
	j.updates(s, note)
	all = append(all, ignored(fset, s.Files, all)...)
	slices.SortStableFunc(all, Finding.Compare)
	return all
}

// statement matches a text that begins as a statement. A message that only mentions a
// statement does not begin so.
var statement = regexp.MustCompile(`(?i)^(?:\s|--[^\n]*\n)*(?:select|insert|update|values|with|delete|merge)\s`)

// maxEmbedded is the greatest size in bytes of an embedded file that is read.
const maxEmbedded = 1 << 20

// embedded reads a file that Go source in a folder embeds. It returns the file's text and
// path.
func embedded(folder, name string) (text, path string, ok bool) {
	path = filepath.Join(folder, filepath.FromSlash(name))
	if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxEmbedded {
		return "", "", false
	}
	data, err := os.ReadFile(path)
	return string(data), path, err == nil
}

// Compare compares findings by their files, then their positions, then their rules.
func (f Finding) Compare(g Finding) int {
	return cmp.Or(cmp.Compare(f.At.Filename, g.At.Filename), cmp.Compare(f.At.Offset, g.At.Offset), cmp.Compare(f.Rule, g.Rule))
}

// FindingOf returns an INSERT as a finding, with the report of a rule if a rule reports
// about it.
func FindingOf(o Outcome) Finding {
	f := Finding{Outcome: o}
	into := "an INSERT"
	if o.Table != "" {
		into += " into " + o.Table
	}
	switch {
	case o.Action == Refuse && o.Unfilled():
		f.Rule, f.Message = RuleRefused, into+" goes out without a key, since "+o.Reason[len(unfilledPrefix):]
	case o.Action == Refuse:
		f.Rule, f.Message = RuleRefused, into+" is refused: "+o.Reason
	case o.Action == Dynamic:
		f.Rule, f.Message = RuleDynamic, into+" is put together when the program runs ("+o.Reason+")"
	}
	if f.Rule != "" && o.Depends != "" {
		f.Message += " (depends on " + o.Depends + ")"
	}
	return f
}

// hidesKey reports whether LastInsertId cannot return the key of an INSERT.
func (j *Judge) hidesKey(o Outcome) bool {
	if o.Action != Fill {
		return false
	}
	found := j.ruleOf(o.Table)
	return found != nil && len(found.Keys) > 0 && !slices.ContainsFunc(found.Keys, func(k policy.RuleKey) bool { return k.Integer })
}

// lastID returns the finding about a call of LastInsertId that does not return the key.
func lastID(o Outcome) Finding {
	return Finding{Rule: RuleLastInsertID, Message: "the key of this INSERT into " + o.Table + " is no integer, so LastInsertId does not answer it: " +
		"draw the key before by Mount.Keys, read it by keyfill.Last, or take a source of integers"}
}
