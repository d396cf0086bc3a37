package policy

import (
	"bytes"
	_ "embed"
	"maps"
)

//go:embed keyfill.schema.json
var schemaFile []byte

// Schema returns the JSON Schema (draft 2020-12) of the file, for editors and checkers.
// Each call returns a new slice.
func Schema() []byte { return bytes.Clone(schemaFile) }

// schema is a JSON Schema.
type schema map[string]any

// with returns a copy of s with one more keyword.
func (s schema) with(keyword string, value any) schema {
	s = maps.Clone(s)
	s[keyword] = value
	return s
}

// objectSchema returns the schema of a mapping with these fields and no others.
func objectSchema(fields []heading) schema {
	var required []string
	properties := make(schema)
	for _, f := range fields {
		properties[f.name] = f.schema
		if f.required {
			required = append(required, f.name)
		}
	}
	s := schema{"type": "object", "additionalProperties": false, "properties": properties}
	if required != nil {
		s["required"] = required
	}
	return s
}
