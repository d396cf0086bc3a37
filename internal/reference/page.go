package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// head is the page before its tables.
const head = `# The policy file

**For a developer.** Which fields does the policy have, and what does each of them mean?

` + "`make reference`" + ` writes this page from the JSON Schema of the file,
[keyfill.schema.json](../policy/keyfill.schema.json). An editor with a YAML language
server completes and checks the fields by the comment in the first line:

` + "```yaml" + `
# yaml-language-server: $schema=https://raw.githubusercontent.com/keyfill/keyfill/main/policy/keyfill.schema.json
version: 1
tables:
  customers: {column: id, source: uuidv7}
  orders:    {column: id, source: {kind: sequence, ensure_schema: true}}
` + "```" + `

The file is YAML in UTF-8, of 1 MiB at most, and one document. A field that is not
known, one that is there twice, and one that would do nothing are errors with their
line. Anchors, aliases and merge keys are not read.

| type | is written as |
|---|---|
| text | a string that is not empty |
| integer | decimal digits |
| boolean | ` + "`true` or `false`" + ` |
| duration | a whole number and its unit, ` + "`ms`, `s`, `m` or `h`: `30s`" + ` |
| list | ` + "`[a, b]`" + `, with one element or more |
| mapping | ` + "`{field: value}`" + `, or one field a line |

In the column of defaults a dash says that the meaning names what counts where the field
is left out.
`

// section is a heading of the page, with the mapping of the file that it describes.
type section struct {
	title, text string
	at          []string // the path to the mapping in the schema
	kinds       bool     // the fields belong to kinds of sources
}

var sections = []section{
	{title: "The file", text: "The file is a mapping with these fields."},
	{
		title: "Tables", text: "Each entry of `tables` is the name of a table, or a pattern, and a mapping with these fields. `column` or `keys` has to be there.",
		at: []string{"tables", "*"},
	},
	{
		title: "Keys", text: "Each element of `keys` is a mapping with these fields.",
		at: []string{"tables", "*", "keys", "-"},
	},
	{
		title: "Sources", text: "A source is a mapping with these fields. It stands under `source` in a table or key, or as a named entry of `sources`. A field belongs to the kinds that are named beside it, and is an error with another kind.",
		at: []string{"sources", "*"}, kinds: true,
	},
	{
		title: "Columns of a scope", text: "Each element of `scope` is the name of a column, or a mapping with these fields.",
		at: []string{"sources", "*", "scope", "-"},
	},
	{
		title: "Periods", text: "The field `period` of a source is one of the words `none`, `day`, `month`, `quarter` and `year`, or a mapping with these fields.",
		at: []string{"sources", "*", "period"},
	},
	{
		title: "Tables of other programs", text: "The field `table` of a source is a mapping with these fields.",
		at: []string{"sources", "*", "table"},
	},
	{
		title: "Stores", text: "Each entry of `stores` is a name and a mapping with these fields. One of `dsn`, `dsn_env`, `endpoints` and `endpoints_env` has to be there. The other fields but `driver` go with endpoints, which the drivers of stores without SQL take.",
		at: []string{"stores", "*"},
	},
	{
		title: "TLS of a store", text: "The field `tls` of a store is a mapping with these fields.",
		at: []string{"stores", "*", "tls"},
	},
}

// pageOf returns the page about the file that a schema describes.
func pageOf(text []byte) (string, error) {
	var root schema
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber() // an integer stays as it is written
	if err := decoder.Decode(&root); err != nil {
		return "", err
	}
	if err := root.sourcesAgree(); err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString(head)
	for _, s := range sections {
		mapping, err := root.find(s.at)
		if err == nil {
			err = s.write(&b, mapping)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", s.title, err)
		}
	}
	return b.String(), nil
}

// write writes the section about a mapping.
func (s section) write(b *strings.Builder, mapping schema) error {
	fmt.Fprintf(b, "\n## %s\n\n%s\n", s.title, s.text)
	if s.kinds {
		b.WriteString("\n| kind | its keys |\n|---|---|\n")
		for _, kind := range mapping.field("kind").list("oneOf") {
			fmt.Fprintf(b, "| `%s` | %s |\n", kind.text("const"), inCell(kind.text("description")))
		}
		b.WriteString("\n| field | type | default | kinds | meaning | example |\n|---|---|---|---|---|---|\n")
	} else {
		b.WriteString("\n| field | type | default | meaning | example |\n|---|---|---|---|---|\n")
	}
	fields, _ := mapping["properties"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		f := schema(fields[name].(map[string]any))
		kind, err := f.typeName()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		cells := []string{"`" + name + "`", kind, f.defaultCell(mapping.requires(name))}
		meaning := f.text("description")
		if s.kinds {
			kinds := mapping.kindsOf(name)
			meaning = strings.TrimPrefix(meaning, strings.Join(kinds, ", ")+": ")
			cells = append(cells, quoted(kinds))
		}
		example, err := f.example(name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		cells = append(cells, f.meaning(meaning), example)
		fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
	}
	return nil
}

// sourcesAgree returns an error if the source of a table has other fields than an entry of
// sources: the page describes both at once.
func (s schema) sourcesAgree() error {
	named, err := s.find([]string{"sources", "*"})
	if err != nil {
		return err
	}
	for _, at := range [][]string{{"tables", "*"}, {"tables", "*", "keys", "-"}} {
		holder, err := s.find(at)
		if err != nil {
			return err
		}
		forms := holder.field("source").list("oneOf")
		if len(forms) != 2 || !reflect.DeepEqual(forms[1], named) {
			return fmt.Errorf("the source in %v differs from an entry of sources: let one shape describe both", at)
		}
	}
	return nil
}
