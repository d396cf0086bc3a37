package policy

import "go.yaml.in/yaml/v3"

var ensureSchemaField = newEnsureSchemaField()

var createField = of("create", "Whether keyfill creates the row of the state where it is missing. Left out, it is what ensure_schema of the source says; where the file alone says that, it is true for a state without a name of its own.",
	optional(boolean), func(s *Source) **bool { return &s.Create }).as(true)

// withDefaultSchema returns s, which is of kind k, as ensure_schema: true of the file completes it. isNamed says
// that its state has a name that other entries and files may use: a misspelt one would
// begin a second state, so that its row is made only where the source itself says so.
func (k *kind) withDefaultSchema(s Source, isNamed bool) Source {
	switch {
	case s.EnsureSchema, s.saysNoSchema, !k.reads(ensureSchemaField):
		return s
	case s.Store == StoreNone, s.Lock == LockNone, s.Table != nil: // where it would be an error
		return s
	}
	s.EnsureSchema = true
	if isNamed && s.Create == nil && k.reads(createField) {
		s.Create = new(false)
	}
	return s
}

// newEnsureSchemaField returns the field ensure_schema, which notes too that a file says false:
// the file's own ensure_schema does not count then.
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
