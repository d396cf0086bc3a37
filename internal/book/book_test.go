package main

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

// tree is a folder with the pages that the program looks into.
func tree(deviation, cell, block string) fstest.MapFS {
	return fstest.MapFS{
		"README.md":          {Data: []byte("# A title\n\nThree plain [words](docs/errors.md).\n\n```sh\n" + block + "\n```\n")},
		"docs/errors.md":     {Data: []byte("## Some\n\n### driver\n\nA text.\n")},
		"docs/deviations.md": {Data: []byte("Two words.\n\n<!-- deviations: a -->\n| what | engine | example | switch | test |\n|---|---|---|---|---|\n" + deviation + "\n<!-- end -->\n")},
		"docs/guarantees.md": {Data: []byte("<!-- table of guarantees: x -->\n| method | engines | unique |\n|---|---|---|\n| `uuidv7` | all | " + cell + " |\n<!-- end of table -->\n")},
	}
}

const line = "| A line. | all | `INSERT` | – | e2e/keys TestA |"

// TestLost: a change of words loses nothing, and each kind of loss is found.
func TestLost(t *testing.T) {
	before := tree(line, "by chance", "make test\nmake lint")
	for _, c := range []struct {
		name string
		now  fstest.MapFS
		lost int
		says string
	}{
		{"nothing", before, 0, "0 lost"},
		{"other words", tree("| Other words. | all | `INSERT` | – | e2e/keys TestA |", "by chance", "make test\nmake lint"), 0, "0 changed"},
		{"another example", tree("| A line. | all | `UPDATE` | – | e2e/keys TestA |", "by chance", "make test\nmake lint"), 0, "changed: e2e/keys TestA: `INSERT`"},
		{"a line", tree("", "by chance", "make test\nmake lint"), 1, "lost: e2e/keys TestA: `INSERT`"},
		{"its test", tree("| A line. | all | `INSERT` | – | e2e/keys TestB |", "by chance", "make test\nmake lint"), 1, "lost: e2e/keys TestA"},
		{"a cell", tree(line, "yes", "make test\nmake lint"), 1, "lost: table of guarantees: `uuidv7`, all, unique: by chance"},
		{"half of a block", tree(line, "by chance", "make test"), 0, "changed: sh make test make lint"},
		{"a block", tree(line, "by chance", "make sim"), 1, "lost: sh make test make lint"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			lost, err := printLost(&out, before, c.now)
			if err != nil || lost != c.lost || !strings.Contains(out.String(), c.says) {
				t.Errorf("printLost = %d, %v, want %d; it printed\n%s\nwithout %q", lost, err, c.lost, out.String(), c.says)
			}
		})
	}
	now := tree(line, "by chance", "make test\nmake lint")
	now["docs/errors.md"].Data = []byte("## Some\n")
	if lost, err := printLost(&bytes.Buffer{}, before, now); lost != 1 || err != nil {
		t.Errorf("without the section of an error, printLost = %d, %v, want 1", lost, err)
	}
}

// TestWords: code, comments and the targets of links are no words, and what is between the
// comments of a generated part is counted apart.
func TestWords(t *testing.T) {
	for name, want := range map[string][2]int{
		"README.md":          {5, 0},  // the title and the sentence
		"docs/errors.md":     {0, 4},  // all of it
		"docs/deviations.md": {2, 11}, // five of the head, six of the line: a dash is no word
	} {
		data := tree(line, "by chance", "make test")[name].Data
		hand, generated := words(name, string(data))
		if [2]int{hand, generated} != want {
			t.Errorf("words(%s) = %d, %d, want %d", name, hand, generated, want)
		}
	}
}

// TestSentences: paragraphs, items of lists, cells and help are cut into sentences, code and
// titles are left out, and a seed draws the same ones each time.
func TestSentences(t *testing.T) {
	pages := fstest.MapFS{
		"README.md":        {Data: []byte("# No title is a sentence here\n\nA first one that\nhas [two](docs/faq.md) lines. Too short. Is this the third one?\n\n```sh\nmake all of the tests\n```\n\n- An item of a list\n  that goes on.\n- An item of its own.\n")},
		"docs/faq.md":      {Data: []byte("| what some head says | b |\n|---|---|\n| what some cell says | `a code span` of it |\n\nAn item of its own.\n")},
		"cmd/keyfill/a.go": {Data: []byte("package main\n\n// This is no help at all.\nconst aHelp = `Prints what it is\nasked for. See docs.`\n")},
	}
	want := []string{
		"README.md: A first one that has [two] lines.", "README.md: Is this the third one?",
		"README.md: An item of a list that goes on.", "README.md: An item of its own.",
		"docs/faq.md: what some head says", "docs/faq.md: what some cell says", "cmd/keyfill/a.go: Prints what it is asked for.",
	}
	drawn := func(seed string, n int) []string {
		t.Helper()
		var out bytes.Buffer
		if err := printSentences(&out, pages, seed, n); err != nil {
			t.Fatal(err)
		}
		return strings.Split(strings.TrimSpace(out.String()), "\n")[1:]
	}
	all := drawn("a", 60)
	if sorted := slices.Sorted(slices.Values(all)); !slices.Equal(sorted, slices.Sorted(slices.Values(want))) {
		t.Errorf("drawn were\n%s\nwant\n%s", strings.Join(all, "\n"), strings.Join(want, "\n"))
	}
	if again := drawn("a", 3); !slices.Equal(again, all[:3]) {
		t.Errorf("the same seed has drawn %q, and before %q", again, all[:3])
	}
	if others := drawn("b", 60); slices.Equal(others, all) {
		t.Error("another seed has drawn the same order")
	}
}
