package keyfill_test

import (
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plainWords are patterns of words that a reader who does not know the project has to read
// twice, with the words to write instead.
var plainWords = []struct {
	words   *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`(?i)\bbehind\b`), "after, below or through: behind is for a place, as of a server behind a proxy, and for a clock"},
	{regexp.MustCompile(`(?i)\bin front\b`), "before: in front is for a place, as of a pooler in front of a server"},
	{regexp.MustCompile(`(?i)\b(nobody|no one)\b`), "no process, no program, or what is not known, not used"},
	{regexp.MustCompile(`(?i)\b(some|any|every)(body|one)\b`), "the caller, a process, another session, an operator"},
	{regexp.MustCompile(`(?i)\b(who|whom|whoever|whosoever)\b`), "the caller, a process, the driver: who is for a person that the sentence names"},
	{regexp.MustCompile(`(?i)\b(becomes?|became) of\b`), "what happens to it, how it is treated, its outcome"},
	{regexp.MustCompile(`(?i)\bin (the|its|their) place\b`), "instead, or replaces"},
	{regexp.MustCompile(`(?i)\b(that|those) of\b`), "the noun once more, or a possessive"},
	{regexp.MustCompile(`(?i)\b(takes|took) in\b`), "the verb that says what is done"},
	{regexp.MustCompile(`(?i)\b(see|sees|saw) to\b`), "ensures, makes, or the verb that says what is done"},
	{regexp.MustCompile(`(?i)\b(is|are|was|were) none (of|any)\b`), "is not one of, is no longer"},
	{regexp.MustCompile(`(?i)\bby (itself|themselves)\b`), "alone, separately, directly, implicitly, or nothing"},
	{regexp.MustCompile(`(?i)\bas long as\b`), "while, until or if"},
	{regexp.MustCompile(`(?i)\b(tells?|telling|told)\b`), "reports, returns, shows, identifies, distinguishes"},
	{regexp.MustCompile(`"" (for (none|nothing|no)\b|where|if)`), "empty if …"},
	{regexp.MustCompile(`^\w+ (says|tells|answers) whether\b`), "reports whether"},
}

var (
	// rightUses are uses of these words that are plain.
	rightUses = regexp.MustCompile(`(?i)\btimes as long as\b|\bbehind (a |the |an? other )?(pooler|proxy|proxies|pgbouncer|firewall)\b` +
		`|\b(clock|time)( \w+){0,8} behind\b|\b(fall|falls|fallen|fell|lag|lags|seconds|far) behind\b|\bstands behind the newest keys\b` +
		`|\b(pooler|pgbouncer|proxy)( [\w.]+){0,5} in front of\b` +
		`|\b(administrators?|authors?|contributors?|developers?|designers?|operators?|people|persons?|readers?|reviewers?|users?)( of \w+)? who\b`)

	quotedText    = regexp.MustCompile("``.*?``|`[^`]*`|\"[^\"\n]+\"|“[^”]*”|<!--.*?-->|\\[[A-Za-z.*_]+\\](\\.\\w+)?")
	linkTarget    = regexp.MustCompile(`\]\([^)]*\)`)
	generatedFile = regexp.MustCompile(`(?m)^// Code generated .* DO NOT EDIT\.$`)
)

// writtenPages are pages whose words come from elsewhere: the history, the outcomes in tables,
// and the texts of fields.
var writtenPages = map[string]*regexp.Regexp{
	"CHANGELOG.md":       regexp.MustCompile(`(?s).*`),
	"docs/guarantees.md": regexp.MustCompile(`(?m)^\| .*\btold\b.*\|$`),
	"docs/reference.md":  regexp.MustCompile(`(?m)^\|.*\|$`),
}

// TestPlainComments finds these words in the comments of the code.
func TestPlainComments(t *testing.T) {
	own, nested := goFiles(t)
	files := 0
	for _, file := range slices.Concat(own, nested) {
		if file.test {
			continue
		}
		name := path.Join(file.folder, file.name)
		source, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		if generatedFile.Match(source) {
			continue
		}
		files++
		names, comments := commentsOf(source)
		for _, c := range comments {
			for _, fault := range unplain(c.text, names) {
				t.Errorf("%s:%d: %s", name, c.line, fault)
			}
		}
	}
	if files < 500 {
		t.Errorf("%d files were read, want 500 or more", files)
	}
}

// TestPlainPages finds these words in the pages, outside of headings and code.
func TestPlainPages(t *testing.T) {
	for _, page := range pages(t) {
		if strings.Contains(page, "testdata/") {
			continue
		}
		text := prose(t, page)
		if elsewhere := writtenPages[page]; elsewhere != nil {
			text = elsewhere.ReplaceAllString(text, "")
		}
		for _, line := range append(split(text), tableLines(text)...) {
			for _, fault := range unplain(line, nil) {
				t.Errorf("%s: %s", page, fault)
			}
		}
	}
}

// logTexts is the file with the messages of the log, which do not change: alerts rest on them.
const logTexts = "internal/keys/report/messages.go"

// TestPlainTexts finds these words in what programs print: errors, help, findings, and the
// descriptions of fields and flags. A text of fewer than four words is a name.
func TestPlainTexts(t *testing.T) {
	own, nested := goFiles(t)
	texts := 0
	for _, file := range slices.Concat(own, nested) {
		name := path.Join(file.folder, file.name)
		if file.test || name == logTexts || !speaks(file.folder) && !slices.Contains([]string{"keyfillhttp", "keyfillprom", "keyfillvet"}, file.folder) {
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, filepath.FromSlash(name), nil, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if ast.IsGenerated(parsed) {
			continue
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			literal, ok := n.(*ast.BasicLit)
			if !ok || literal.Kind != token.STRING {
				return true
			}
			if text, ok := literalText(literal); ok && len(strings.Fields(text)) >= 4 {
				texts++
				for _, fault := range unplain(text, nil) {
					t.Errorf("%s: %s", set.Position(literal.Pos()), fault)
				}
			}
			return true
		})
	}
	if texts < 2000 {
		t.Errorf("%d texts were read, want 2000 or more", texts)
	}
}

// TestPlainWords checks the patterns on sentences.
func TestPlainWords(t *testing.T) {
	for text, want := range map[string]int{
		"skip moves behind one token.":                               1,
		"A server behind a proxy is [behind](errors.md#behind) one.": 0,
		"The clock is more than ten seconds behind the keys.":        0,
		"It takes the place of that of the table, which nobody has":  2,
		"A developer who asks reads it; who waits gets it.":          1,
		"isOpen says whether it is open; \"\" for none.":             2,
		"Where `behind` is a name, and \"told\" a text.":             0,
		"told is a name of the file.":                                0,
		"It is told of the end, in the\nplace of another one.":       2,
	} {
		if got := unplain(text, map[string]bool{"told": strings.HasPrefix(text, "told")}); len(got) != want {
			t.Errorf("unplain(%q) = %q, want %d", text, got, want)
		}
	}
}

// unplain returns the words of a text that are in plainWords, with what to write instead.
// A word that is one of names is no fault.
func unplain(text string, names map[string]bool) (faults []string) {
	text = strings.Join(strings.Fields(text), " ")
	text = rightUses.ReplaceAllString(quotedText.ReplaceAllString(linkTarget.ReplaceAllString(text, "]"), "…"), "…")
	for _, p := range plainWords {
		for _, at := range p.words.FindAllStringIndex(text, -1) {
			if found := text[at[0]:at[1]]; !names[found] {
				faults = append(faults, "write "+p.instead+`, not "`+found+`": … `+text[max(at[0]-40, 0):min(at[1]+20, len(text))]+" …")
			}
		}
	}
	return faults
}

// comment is the text of comments that no code separates, without the lines that are
// indented, which are code or tables.
type comment struct {
	line int
	text string
}

// commentsOf returns the names and the comments of a file.
func commentsOf(source []byte) (names map[string]bool, all []comment) {
	names = map[string]bool{}
	set := token.NewFileSet()
	file := set.AddFile("", set.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	open := false
	for {
		pos, kind, text := s.Scan()
		switch {
		case kind == token.EOF:
			return names, all
		case kind == token.COMMENT:
			if !open {
				all = append(all, comment{line: file.Line(pos)})
			}
			open = true
			text = strings.TrimSuffix(strings.TrimPrefix(text, "/*"), "*/")
			if rest, ok := strings.CutPrefix(text, "//"); ok {
				text = rest
			}
			if text != "" && text[0] != '\t' && (text[0] == ' ' || strings.Contains(text, "\n")) { // no directive
				all[len(all)-1].text += text + "\n"
			}
		case kind == token.SEMICOLON && text == "\n":
		default:
			open = false
			if kind == token.IDENT {
				names[text] = true
			}
		}
	}
}

// tableLines returns the rows of the tables of a text.
func tableLines(text string) (rows []string) {
	for line := range strings.Lines(text) {
		if strings.HasPrefix(strings.TrimSpace(line), "|") {
			rows = append(rows, line)
		}
	}
	return rows
}
