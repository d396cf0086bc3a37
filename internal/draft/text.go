package draft

import (
	"fmt"
	"strings"
	"unicode"
)

// width is the greatest number of characters in a line of a comment. A longer word has a
// line of its own.
const width = 88

const head = `# yaml-language-server: $schema=https://raw.githubusercontent.com/keyfill/keyfill/main/policy/keyfill.schema.json
#
# A first policy, made by keyfill init. An INSERT into a table below that brings no key
# gets one from the source; an INSERT that brings its key is kept. docs/sources.md
# compares the sources, and keyfill check reports what does not fit.
`

// readersByKey is a question to the reader that no catalog answers.
const readersByKey = "Does a program read a table by id > last, as an outbox, an event store or a queue is read? " +
	"Where several processes insert it misses rows, unless the source is {kind: sequence, transaction: joined}: docs/sources.md#readers-by-key."

// sections are the groups of comments after the entries, by the decision about the tables.
var sections = []struct {
	verdict verdict
	title   string
}{
	{numbered, "Left to the engine, which makes these keys."},
	{undecided, "To be decided."},
	{empty, "Nothing to fill."},
}

// Text returns the file: a policy, with comments. It is UTF-8.
func (f *Draft) Text() string {
	t := &writer{}
	t.raw(head)
	for _, remark := range f.Remarks {
		t.raw("#\n")
		t.comment("", remark)
	}
	if f.Filled() > 0 {
		t.raw("#\n")
		t.comment("", readersByKey)
	}
	t.raw("version: 1\n")
	t.raw("dialect: " + f.d.Name + "\n")
	if f.EnsureSchema {
		t.raw("ensure_schema: true # keyfill makes the tables in which its sources count\n")
	}
	t.raw("tables:\n")
	first := true
	for _, i := range f.items {
		i.line = 0
		if i.verdict != filled {
			continue
		}
		if !first {
			t.raw("\n")
		}
		first = false
		t.comment("  ", strings.Join(i.why, " "))
		for _, note := range i.notes {
			t.comment("  ", note)
		}
		i.line = t.lines + 1
		t.raw("  " + f.entry(i) + "\n")
	}
	for _, s := range sections {
		if f.count(s.verdict) == 0 {
			continue
		}
		t.raw("\n")
		t.comment("", s.title)
		if s.verdict == numbered {
			t.comment("", f.wayText())
		}
		for _, i := range f.items {
			if i.verdict == s.verdict {
				t.left(i, f.entry(i))
			}
		}
	}
	return t.b.String()
}

// wayText returns the text that says how keyfill can fill a column that the engine numbers.
func (f *Draft) wayText() string {
	return "A line below takes the place of the engine, and docs/adopting.md has the way there while programs insert. " +
		"Where a line has S and B, " + f.Way + " --table TABLE prints the numbers."
}

// writer writes the lines of the file, and counts them.
type writer struct {
	b     strings.Builder
	lines int
}

func (t *writer) raw(text string) {
	t.b.WriteString(text)
	t.lines += strings.Count(text, "\n")
}

// left writes the comment about a table without an entry, with the policy line for it if
// there is one.
func (t *writer) left(i *item, entry string) {
	t.raw("#\n")
	if entry != "" {
		t.raw("#  " + entry + "\n")
	} else {
		t.raw("#  " + i.names[0] + "\n")
	}
	t.comment("", "    "+strings.Join(append(i.why, i.notes...), " "))
}

// comment writes a text as lines of a comment. The spaces before its first word are
// repeated on each line.
func (t *writer) comment(indent, text string) {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || r == '\uFEFF' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
	words := strings.TrimLeft(text, " ")
	prefix := indent + "# " + text[:len(text)-len(words)]
	line := ""
	for _, word := range strings.Fields(words) {
		if line != "" && len([]rune(prefix+line))+1+len([]rune(word)) > width {
			t.raw(prefix + line + "\n")
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	if line != "" {
		t.raw(fmt.Sprintf("%s%s\n", prefix, line))
	}
}
