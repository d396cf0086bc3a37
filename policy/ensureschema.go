package policy

import "go.yaml.in/yaml/v3"

var ensureSchemaField = newEnsureSchemaField()

var createField = of("create", "Whether keyfill creates the row of the state where it is missing. Left out, it is what ensure_schema of the source says; where the file alone says that, it is true for a state without a name of its own.",
	optional(boolean), func(s *Source) **bool { return &s.Create }).as(true)

// withDefaultSchema returns s, a source of kind k, as it is in a file with ensure_schema:
// true. isNamed reports whether its state (counter) has a name that other entries and files
// may use. If such a name were misspelt, a second state would begin, so its row is created
// only if the source itself says so.
func (k *kind) withDefaultSchema(s Source, isNamed bool) Source {
	switch {
	case s.EnsureSchema, s.saysNoSchema, !k.reads(ensureSchemaField):
		return s
	case s.Store == StoreNone, s.Lock == LockNone, s.Table != nil: // ensure_schema would be an error in these
		return s
	}
	s.EnsureSchema = true
	if isNamed && s.Create == nil && k.reads(createField) {
		s.Create = new(false)
	}
	return s
}

// newEnsureSchemaField returns the field ensure_schema. Reading it also notes that a
// file says false: then the file's own ensure_schema does not apply.
func newEnsureSchemaField() *sourceField {
	k := of("ensure_schema", "Whether keyfill creates its tables and the row of the state where they are missing. Left out, it is what the file says.",
		boolean, func(s *Source) *bool { return &s.EnsureSchema }).as(true)
	read := k.read
	k.read = func(r *reader, p place, n *yaml.Node, s *Source) {
		read(r, p, n, s)
		s.saysNoSchema = !s.EnsureSchema
	}
	return k
}
