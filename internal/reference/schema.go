package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// schema is a JSON Schema, or a part of one.
type schema map[string]any

// find returns the part of s at the end of a path, whose elements are the name of a field,
// "*" for the value of any entry, or "-" for an element of a list.
func (s schema) find(way []string) (schema, error) {
	for _, step := range way {
		next := s.field(step)
		switch step {
		case "*":
			next = s.part("additionalProperties")
		case "-":
			next = s.part("items")
		}
		if forms := next.list("oneOf"); len(forms) == 2 { // a word or name, or a mapping
			next = forms[1]
		}
		if next == nil {
			return nil, fmt.Errorf("there is no %s on the way %v", step, way)
		}
		s = next
	}
	return s, nil
}

// field returns the schema of a field, nil if there is none.
func (s schema) field(name string) schema { return s.part("properties").part(name) }

// part returns the schema under a keyword, nil if there is none.
func (s schema) part(keyword string) schema {
	part, _ := s[keyword].(map[string]any)
	return part
}

// list returns the schemas under a keyword.
func (s schema) list(keyword string) []schema {
	var parts []schema
	all, _ := s[keyword].([]any)
	for _, one := range all {
		parts = append(parts, one.(map[string]any))
	}
	return parts
}

func (s schema) text(keyword string) string {
	text, _ := s[keyword].(string)
	return text
}

// requires reports whether a mapping needs a field.
func (s schema) requires(name string) bool {
	required, _ := s["required"].([]any)
	return slices.Contains(required, any(name))
}

// kindsOf returns the kinds of a source that have a field; none for kind itself.
func (s schema) kindsOf(name string) []string {
	for _, rule := range s.list("allOf") {
		if _, about := rule.part("else").part("properties")[name]; !about {
			continue
		}
		var kinds []string
		for _, kind := range rule.part("if").field("kind")["enum"].([]any) {
			kinds = append(kinds, kind.(string))
		}
		return kinds
	}
	return nil
}

// typeName returns the name that the page uses for the type of a field.
func (s schema) typeName() (string, error) {
	if words, ok := s["enum"].([]any); ok {
		return quoted(shown(words)), nil
	}
	if one, ok := s["const"]; ok {
		return quoted(shown([]any{one})), nil
	}
	if forms := s.list("oneOf"); s["type"] == nil && forms != nil {
		if _, isWord := forms[0]["const"]; isWord {
			return "a kind", nil
		}
		return "text or mapping", nil
	}
	kind := s["type"]
	if kinds, ok := kind.([]any); ok && len(kinds) == 2 && kinds[1] == "null" {
		kind = kinds[0] // the field may be null
	}
	switch kind {
	case "integer":
		if least, ok := s["minimum"]; ok {
			return fmt.Sprintf("integer from %v", least), nil
		}
		return "integer", nil
	case "string":
		if strings.Contains(s.text("pattern"), "(ms|s") {
			return "duration", nil
		}
		return "text", nil
	case "boolean":
		return "boolean", nil
	case "array":
		items := s.part("items")
		if words, ok := items["enum"].([]any); ok {
			words = slices.DeleteFunc(slices.Clone(words), func(w any) bool { return w == nil })
			return "list of " + quoted(shown(words)), nil
		}
		of, err := items.typeName()
		return "list of " + map[string]string{"text": "texts", "mapping": "mappings", "text or mapping": "texts or mappings"}[of], err
	case "object":
		return "mapping", nil
	}
	return "", fmt.Errorf("the page has no word for a schema with the keywords %v: add it to typeName", slices.Sorted(maps.Keys(s)))
}

// defaultCell returns the text of the page about leaving the field out.
func (s schema) defaultCell(required bool) string {
	if required {
		return "required"
	}
	if value, ok := s["default"]; ok {
		return quoted(shown([]any{value}))
	}
	return "–"
}

// example returns the first example as a line of YAML.
func (s schema) example(name string) (string, error) {
	all, _ := s["examples"].([]any)
	if len(all) == 0 {
		return "", fmt.Errorf("it has no example: add one to the field")
	}
	return "`" + name + ": " + flow(all[0]) + "`", nil
}

// word is a word before a colon.
var word = regexp.MustCompile(`\b[a-z_]+:`)

// meaning returns a description for a cell, with the words that the field may hold as
// code.
func (s schema) meaning(description string) string {
	words, _ := s["enum"].([]any)
	if items, ok := s.part("items")["enum"].([]any); ok {
		words = items
	}
	return word.ReplaceAllStringFunc(inCell(description), func(found string) string {
		if name := strings.TrimSuffix(found, ":"); slices.Contains(words, any(name)) {
			return "`" + name + "`:"
		}
		return found
	})
}

// plain matches a string that YAML reads as that string without quotes, also within [ ] or
// { }.
var plain = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_. -]*$|^[0-9]+(ms|s|m|h)$`)

// flow returns a value as YAML in one line.
func flow(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var entries []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			entries = append(entries, flow(name)+": "+flow(v[name]))
		}
		return "{" + strings.Join(entries, ", ") + "}"
	case []any:
		var elements []string
		for _, one := range v {
			elements = append(elements, flow(one))
		}
		return "[" + strings.Join(elements, ", ") + "]"
	case string:
		if v == "null" || plain.MatchString(v) {
			return v
		}
		text, _ := json.Marshal(v) // a string causes no error, and JSON is YAML too
		return string(text)
	}
	return fmt.Sprint(value)
}

// shown returns values as they are written.
func shown(values []any) []string {
	var texts []string
	for _, v := range values {
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// quoted returns words as code, with commas between them.
func quoted(words []string) string {
	if len(words) == 0 {
		return "all"
	}
	return "`" + strings.Join(words, "`, `") + "`"
}

// inCell returns a text that a cell of a table can hold.
func inCell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
