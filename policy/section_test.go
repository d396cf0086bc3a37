package policy_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/policy"
)

// plain returns the text of an error without its section of docs/errors.md.
func plain(err error) string { return anchor.Plain(fmt.Sprint(err)) }

// TestSections: the text of one mistake, and of several, ends in the section of
// docs/errors.md, once; each mistake is still found.
func TestSections(t *testing.T) {
	for _, mistakes := range []string{"colum: id", "colum: id, sourc: x"} {
		_, err := policy.Parse([]byte("version: 1\ntables: {orders: {column: id, " + mistakes + "}}"))
		if err == nil || anchor.Marked(err.Error()) != "policy" || strings.Count(err.Error(), "docs/errors.md") != 1 {
			t.Errorf("%s: %v", mistakes, err)
		}
		if first := (*policy.Error)(nil); !errors.As(err, &first) || first.Table != "orders" || first.Column == 0 {
			t.Errorf("%s: errors.As finds %+v", mistakes, first)
		}
	}
	_, err := policy.Load("no such file.yaml")
	if anchor.Marked(fmt.Sprint(err)) != "policy" {
		t.Errorf("Load: %v", err)
	}
}
