package tree_test

import (
	"testing"

	"github.com/keyfill/keyfill/judge/tree"
)

// several puts the statements of texts into one.
func several(texts ...*tree.Text) *tree.Text {
	t := &tree.Text{}
	for _, s := range texts {
		t.Statements = append(t.Statements, s.Statements...)
	}
	return t
}

// explained is a text whose statement is explained.
func explained(t *tree.Text) *tree.Text {
	return &tree.Text{Statements: []*tree.Node{{Label: "EXPLAIN", Wrap: tree.Explain, Kids: t.Statements}}}
}

// TestCompareAlike is about keys that are the same, which is wrong of those that
// are stored in one table.
func TestCompareAlike(t *testing.T) {
	one := insert("a", []*tree.Node{leaf("x")})
	two := insert("a", []*tree.Node{leaf("x")}, []*tree.Node{leaf("y")})
	filled := func(k string) *tree.Text { return insert("a,k", []*tree.Node{leaf("x"), literal(k)}) }
	both := func(k, l string) *tree.Text {
		return insert("a,k", []*tree.Node{leaf("x"), literal(k)}, []*tree.Node{leaf("y"), literal(l)})
	}
	cases := []struct {
		name    string
		in, out *tree.Text
		ok      bool
	}{
		{"integers", two, both("1", "2"), true},
		{"one integer", two, both("1", "1"), false},
		{"one UUID", two, both(key, key), false},
		{"one integer in two INSERTs", several(one, one), several(filled("1"), filled("1")), true},
		{"one UUID in two INSERTs", several(one, one), several(filled(key), filled(key)), false},
		{"one UUID, explained", explained(two), explained(both(key, key)), true},
	}
	for _, c := range cases {
		if _, err := tree.Compare(c.in, c.out, tree.Rule{Column: "k", Literal: true}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestCompareSwapped is about a placeholder in a cast that makes way for
// another: the numbers of the type are no keys.
func TestCompareSwapped(t *testing.T) {
	cast := func(param, of string) *tree.Text {
		value := &tree.Node{Label: of, Kids: []*tree.Node{{Label: param, Leaf: tree.Placeholder}, literal("3")}}
		return insert("k", []*tree.Node{value})
	}
	for out, ok := range map[string]bool{"$2": true, "$1": true, "$9": false} {
		in := several(cast("$1", "CAST"), insert("a", []*tree.Node{{Label: "$9", Leaf: tree.Placeholder}}))
		text := several(cast(out, "CAST"), insert("a", []*tree.Node{{Label: "$9", Leaf: tree.Placeholder}}))
		f, err := tree.Compare(in, text, tree.Rule{Column: "k"})
		if (err == nil) != ok || ok && f.Listed != (out != "$1") {
			t.Errorf("$1 became %s: %+v, %v", out, f, err)
		}
	}
	if _, err := tree.Compare(cast("$1", "CAST"), cast("$2", "abs"), tree.Rule{Column: "k"}); err == nil {
		t.Error("another function is taken for a placeholder that was replaced")
	}
}
