package main

import (
	"os"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/policy"
)

const written = "../../docs/reference.md"

// TestReference: docs/reference.md is what this program prints.
func TestReference(t *testing.T) {
	want, err := pageOf(policy.Schema())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(written)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what this program prints: run make reference", written)
	}
}

// TestUnknownShape: a field whose type the page has no word for, and a source of a table
// that differs from those under sources, are errors and not a page that says less.
func TestUnknownShape(t *testing.T) {
	whole := string(policy.Schema())
	for name, change := range map[string][2]string{
		"a type":     {`"type": "boolean"`, `"type": "tuple"`},
		"an example": {`"examples": [`, `"exemplars": [`},
		"a source":   {`"minimum": 2`, `"minimum": 3`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(whole, change[0], change[1], 1)
			if text == whole {
				t.Fatalf("the schema has no %s", change[0])
			}
			if page, err := pageOf([]byte(text)); err == nil {
				t.Errorf("there is a page of %d bytes and no error", len(page))
			}
		})
	}
}
