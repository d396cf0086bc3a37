package checker

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/keyfill/keyfill/judge/tree"
)

// item is a token, or a group: brackets with all that is between them.
type item struct {
	token
	open  byte // '(' or '[' if the item is a group, otherwise 0
	group []item
}

// items makes groups of brackets and what is between them, and removes comments. It returns
// an error if brackets do not match.
func (l *lexis) items(tokens []token) (items []item, comments []string, err error) {
	type level struct {
		open  token
		items []item
	}
	stack := []level{{}}
	for _, t := range tokens {
		top := &stack[len(stack)-1]
		switch {
		case t.kind == comment || t.kind == codeComment:
			comments = append(comments, t.text)
		case t.kind == mark && (t.text == "(" || t.text == "[" && l.squareGroups):
			stack = append(stack, level{open: t})
		case t.kind == mark && (t.text == ")" || t.text == "]" && l.squareGroups):
			want := map[string]string{"(": ")", "[": "]"}[top.open.text]
			if want != t.text {
				return nil, nil, fmt.Errorf("byte %d: %s closes nothing", t.start, t.text)
			}
			stack = stack[:len(stack)-1]
			group := item{token: top.open, open: top.open.text[0], group: top.items}
			stack[len(stack)-1].items = append(stack[len(stack)-1].items, group)
		default:
			top.items = append(top.items, item{token: t})
		}
	}
	if len(stack) > 1 {
		return nil, nil, fmt.Errorf("byte %d: a bracket is not closed", stack[len(stack)-1].open.start)
	}
	return stack[0].items, comments, nil
}

// is reports whether the item is one of the words, given in upper case.
func (i item) is(words ...string) bool {
	return i.open == 0 && i.kind == word && slices.ContainsFunc(words, func(w string) bool { return strings.EqualFold(w, i.text) })
}

// isMark reports whether the item is this mark.
func (i item) isMark(m string) bool { return i.open == 0 && i.kind == mark && i.text == m }

// isName reports whether the item may be a name.
func (i item) isName() bool { return i.open == 0 && (i.kind == word || i.kind == quotedName) }

// leaf returns the node of an item that is no group.
func (i item) leaf() *tree.Node {
	n := &tree.Node{Label: i.text}
	switch i.kind {
	case param:
		n.Leaf, n.Ordinal = tree.Placeholder, i.ordinal
	case number:
		n.Leaf = tree.Literal
	case text:
		n.Kids = []*tree.Node{{Label: strings.Trim(i.text, "'"), Leaf: tree.Literal}}
	}
	return n
}

// name returns a name without its quotes, in lower case.
func (i item) name() string {
	s := i.text
	if i.kind == quotedName && utf8.RuneCountInString(s) >= 2 {
		s = s[1 : len(s)-1]
	}
	return strings.ToLower(s)
}

// split cuts items at a mark.
func split(items []item, at string) [][]item {
	var parts [][]item
	from := 0
	for i := range items {
		if items[i].isMark(at) {
			parts = append(parts, items[from:i])
			from = i + 1
		}
	}
	return append(parts, items[from:])
}
