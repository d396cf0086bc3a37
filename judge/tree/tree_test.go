package tree_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/judge/tree"
)

func leaf(label string) *tree.Node { return &tree.Node{Label: label} }

func literal(label string) *tree.Node { return &tree.Node{Label: label, Leaf: tree.Literal} }

// insert returns a text with one INSERT: columns with commas between, rows of
// values.
func insert(columns string, rows ...[]*tree.Node) *tree.Text {
	in := &tree.Insert{Rows: rows}
	for name := range strings.SplitSeq(columns, ",") {
		in.Listed = true
		in.Names = append(in.Names, name)
		in.Columns = append(in.Columns, leaf(name))
	}
	return &tree.Text{Statements: []*tree.Node{{Label: "INSERT", Insert: in}}}
}

const key = "01900000-0000-7000-8000-000000000001"

// TestCompareKeyListed is about INSERTs that name the key column, which no
// corpus of others' statements does.
func TestCompareKeyListed(t *testing.T) {
	in := insert("a,k", []*tree.Node{leaf("1"), leaf("NULL")})
	cases := []struct {
		name string
		out  *tree.Text
		ok   bool
	}{
		{"filled", insert("a,k", []*tree.Node{leaf("1"), literal(key)}), true},
		{"as it was", insert("a,k", []*tree.Node{leaf("1"), leaf("NULL")}), true},
		{"another value", insert("a,k", []*tree.Node{literal("2"), literal(key)}), false},
		{"a value more", insert("a,k", []*tree.Node{leaf("1"), leaf("NULL"), literal(key)}), false},
		{"a row more", insert("a,k", []*tree.Node{leaf("1"), literal(key)}, nil), false},
		{"a column more", insert("a,k,k", []*tree.Node{leaf("1"), leaf("NULL"), literal(key)}), false},
		{"no key", insert("a,k", []*tree.Node{leaf("1"), literal("x")}), false},
	}
	for _, c := range cases {
		if _, err := tree.Compare(in, c.out, tree.Rule{Column: "k", Literal: true}); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// TestCompareCountDiffers: a key may follow a row that is too short, but not make up for
// a missing value.
func TestCompareCountDiffers(t *testing.T) {
	in := insert("a,b", []*tree.Node{leaf("1")})
	rule := tree.Rule{Column: "k", Literal: true}
	if _, err := tree.Compare(in, insert("a,b,k", []*tree.Node{leaf("1"), literal(key)}), rule); err != nil {
		t.Errorf("a key behind the last column: %v", err)
	}
	if _, err := tree.Compare(in, insert("a,k,b", []*tree.Node{leaf("1"), literal(key)}), rule); err == nil {
		t.Error("a key in the second place is taken for that of the last column")
	}
}

func TestCompareUnfilled(t *testing.T) {
	in := insert("a", []*tree.Node{leaf("1")})
	in.Statements = append(in.Statements, &tree.Node{Label: "body", Wrap: tree.Body, Kids: in.Statements})
	f, err := tree.Compare(in, in, tree.Rule{Column: "k"})
	if err != nil || f.Inserts != 0 || len(f.Unfilled) != 2 {
		t.Fatalf("Compare = %+v, %v", f, err)
	}
	if f.Unfilled[0].Wrap != "" || f.Unfilled[1].Wrap != tree.Body {
		t.Errorf("wraps are %q and %q", f.Unfilled[0].Wrap, f.Unfilled[1].Wrap)
	}
}
