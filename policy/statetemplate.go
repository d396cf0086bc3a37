package policy

import (
	"fmt"
	"slices"
	"strings"
)

// template is the name of a state (counter), with words in braces that are replaced later:
//
//	template = { character | "{schema}" | "{table}" | "{value:" name "}" }
//
// where a name is formed as the name of a source. Braces have no other meaning.
type template []templatePart

// templatePart is a literal text, or a word that is replaced by a text.
type templatePart struct {
	text string // the literal text, or the x of {value:x}
	word templateWord
}

type templateWord uint8

const (
	wordText   templateWord = iota
	wordSchema              // {schema}
	wordTable               // {table}
	wordValue               // {value:x}
)

// parseTemplate reads the name of a state (counter). If it is wrong, msg describes the
// mistake.
func parseTemplate(name string) (t template, msg string) {
	for rest := name; rest != ""; {
		i := strings.IndexAny(rest, "{}")
		switch {
		case i < 0:
			return append(t, templatePart{text: rest}), ""
		case i > 0:
			t = append(t, templatePart{text: rest[:i]})
			rest = rest[i:]
		}
		word, after, closed := strings.Cut(rest[1:], "}")
		if rest[0] == '}' || !closed || strings.Contains(word, "{") {
			return nil, "a { or } is without the other; write both around " + templateWords
		}
		p := templatePart{word: wordValue}
		value, isValue := strings.CutPrefix(word, "value:")
		switch {
		case word == "schema":
			p.word = wordSchema
		case word == "table":
			p.word = wordTable
		case isValue && sourceName.MatchString(value):
			p.text = value
		case isValue:
			return nil, "the name of a value is of ASCII letters, digits, _ and -"
		default:
			return nil, fmt.Sprintf("unknown word %s; there are %s", show("{"+word+"}"), templateWords)
		}
		t = append(t, p)
		rest = after
	}
	return t, ""
}

const templateWords = "{schema}, {table} and {value:x}"

// literally returns the template of a literal text, whose braces have no meaning.
func literally(text string) template { return template{{text: text}} }

// has reports whether t contains a word in braces, such as {table}.
func (t template) has(w templateWord) bool {
	return slices.ContainsFunc(t, func(p templatePart) bool { return p.word == w })
}

// values returns the names of the values in t, each once.
func (t template) values() []string {
	var names []string
	for _, p := range t {
		if p.word == wordValue && !slices.Contains(names, p.text) {
			names = append(names, p.text)
		}
	}
	return names
}

// of returns t with a table's names for {table} and {schema}. {schema} stays if the
// schema is not known.
func (t template) of(n tableName) template {
	filled := slices.Clone(t)
	for i, p := range filled {
		switch {
		case p.word == wordTable:
			filled[i] = templatePart{text: n.table}
		case p.word == wordSchema && n.schema != "":
			filled[i] = templatePart{text: n.schema}
		}
	}
	return filled
}

// String returns t as the file spells it.
func (t template) String() string {
	var b strings.Builder
	for _, p := range t {
		switch p.word {
		case wordText:
			b.WriteString(p.text)
		case wordSchema:
			b.WriteString("{schema}")
		case wordTable:
			b.WriteString("{table}")
		case wordValue:
			b.WriteString("{value:" + p.text + "}")
		}
	}
	return b.String()
}

// id returns a text that is equal for two templates if they give the same names, and
// only then: the word {table} is distinguished from the literal text {table}.
func (t template) id() string {
	var b strings.Builder
	for _, p := range t {
		if p.word == wordText {
			b.WriteString(p.text)
			continue
		}
		b.WriteString("\x00" + string(rune('0'+p.word)) + p.text + "\x00")
	}
	return b.String()
}
