package vet

import (
	"go/ast"
	"go/token"
	"slices"
	"strings"
)

// directive begins a comment that turns findings off, as in
//
//	//keyfill:ignore refused the archive has its own keys
//
// in Go, and with "--" in a file of SQL.
const directive = "keyfill:ignore"

// Comment is a comment that turns the findings of a rule off.
type Comment struct {
	Rule, Excuse string
	Used         bool
}

// ReadComment reads a comment without its comment signs. It reports false if the comment is
// no directive.
func ReadComment(text string) (Comment, bool) {
	rest, ok := strings.CutPrefix(text, directive)
	if !ok || rest != "" && !strings.ContainsAny(rest[:1], " \t\r\n") {
		return Comment{}, false
	}
	rule := strings.TrimSpace(rest)
	excuse := ""
	if i := strings.IndexAny(rule, " \t"); i >= 0 {
		rule, excuse = rule[:i], strings.TrimSpace(rule[i:])
	}
	return Comment{Rule: strings.TrimPrefix(rule, Prefix), Excuse: excuse}, true
}

// fault returns the mistake in a comment; empty if the comment is right.
func (c *Comment) fault() string {
	switch {
	case c.Rule == "":
		return "the comment names no rule: write keyfill:ignore, a rule and a reason"
	case !slices.Contains(RuleNames(), c.Rule) || c.Rule == RuleIgnore:
		return "there is no rule " + quoted(c.Rule) + " to turn off: take one of " + strings.Join(ignorable(), ", ")
	case c.Excuse == "":
		return "the comment gives no reason: write one after the name of the rule"
	case !c.Used:
		return "the comment turns off nothing: remove it"
	}
	return ""
}

func quoted(s string) string { return `"` + s + `"` }

// ignorable returns the names of the rules that comments can turn off.
func ignorable() []string {
	return slices.DeleteFunc(RuleNames(), func(name string) bool { return name == RuleIgnore })
}

// Told returns the finding about a mistake in the comment itself, by the rule ignore. It
// reports false if there is no mistake.
func (c *Comment) Told() (Finding, bool) {
	if fault := c.fault(); fault != "" {
		return Finding{Rule: RuleIgnore, Message: fault}, true
	}
	return Finding{}, false
}

// Apply marks a finding as ignored if the comment is about its rule and gives a reason.
func (c *Comment) Apply(f *Finding) {
	if f.Rule == c.Rule && c.Excuse != "" {
		f.Ignored, f.Excuse, c.Used = true, c.Excuse, true
	}
}

// placed is a comment of a Go file, with the lines to which it applies.
type placed struct {
	Comment
	at         *ast.Comment
	file       string
	behind     bool // whether code precedes the comment on its line
	below      int  // the line after the comment and other comments that directly follow it
	first, end int  // the first and the last line to which the comment applies
}

// ignored marks findings as ignored that the comments of the files turn off, and returns
// findings about mistakes in these comments.
func ignored(fset *token.FileSet, files []*ast.File, findings []Finding) (told []Finding) {
	for _, file := range files {
		for _, p := range comments(fset, file) {
			for i := range findings {
				f := &findings[i]
				if f.At.Filename == p.file && p.first <= f.At.Line && f.At.Line <= p.end {
					p.Apply(f)
				}
			}
			if f, ok := p.Told(); ok {
				f.Pos, f.EndPos, f.At, f.End = p.at.Pos(), p.at.End(), fset.Position(p.at.Pos()), fset.Position(p.at.End())
				told = append(told, f)
			}
		}
	}
	return told
}

// comments returns the directives of a file. A comment on a line of its own applies to the
// line after it and the comments that directly follow it, and to the whole statement or
// declaration that begins there; of a statement with a block, to the part before the block.
// A comment that follows code applies to its line, and to the statement that begins or ends
// on that line.
func comments(fset *token.FileSet, file *ast.File) (all []*placed) {
	for _, group := range file.Comments {
		for _, c := range group.List {
			text, ok := strings.CutPrefix(c.Text, "//")
			if !ok {
				continue
			}
			if comment, ok := ReadComment(text); ok {
				at, below := fset.Position(c.Pos()), fset.Position(group.End()).Line+1
				all = append(all, &placed{Comment: comment, at: c, file: at.Filename, below: below, first: below, end: below})
			}
		}
	}
	if len(all) == 0 {
		return nil
	}
	ast.Inspect(file, func(n ast.Node) bool {
		for _, p := range all {
			if n != nil && n.End() <= p.at.Pos() && !isComment(n) && fset.Position(n.End()).Line == fset.Position(p.at.Pos()).Line {
				p.behind = true
				p.first, p.end = fset.Position(p.at.Pos()).Line, fset.Position(p.at.Pos()).Line
			}
		}
		return true
	})
	ast.Inspect(file, func(n ast.Node) bool {
		end := reach(n)
		if end == token.NoPos {
			return true
		}
		begin, last := fset.Position(n.Pos()).Line, fset.Position(end).Line
		for _, p := range all {
			if line := fset.Position(p.at.Pos()).Line; begin == line || !p.behind && begin == p.below || p.behind && last == line {
				p.first, p.end = min(p.first, begin), max(p.end, last)
			}
		}
		return true
	})
	return all
}

func isComment(n ast.Node) bool {
	switch n.(type) {
	case *ast.Comment, *ast.CommentGroup:
		return true
	}
	return false
}

// reach returns the end of the code to which a comment applies that is at the start of a
// node. It returns NoPos if no comment applies to such a node.
func reach(n ast.Node) token.Pos {
	switch n := n.(type) {
	case *ast.IfStmt:
		return n.Body.Lbrace
	case *ast.ForStmt:
		return n.Body.Lbrace
	case *ast.RangeStmt:
		return n.Body.Lbrace
	case *ast.SwitchStmt:
		return n.Body.Lbrace
	case *ast.TypeSwitchStmt:
		return n.Body.Lbrace
	case *ast.AssignStmt, *ast.ExprStmt, *ast.ReturnStmt, *ast.DeferStmt, *ast.GoStmt, *ast.SendStmt, *ast.ValueSpec, *ast.KeyValueExpr:
		return n.End()
	}
	return token.NoPos
}
