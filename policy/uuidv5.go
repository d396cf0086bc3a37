package policy

import (
	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

var uuidv5Kind = kind{
	name:      KindUUIDv5,
	doc:       "UUIDs made from columns of the row, so that the same values make the same key",
	guarantee: Guarantee{Unique: NotUnique, Ordered: NotOrdered},
	layouts:   layouts,
	fields:    []*sourceField{namespaceField, fromField},
	check:     checkUUIDv5,
	defaults:  func(s *Source, _ *dialect.Dialect) { completeColumns(s.From) },
	open: func(s Source, _ keysource.Env) (keysource.Source, error) {
		id, err := uuid.Parse(s.Namespace)
		return keysource.NewUUIDv5(id), err
	},
}

var namespaceField = of("namespace", "The UUID within which the keys are made, a random one for each kind of row. Another namespace makes other keys of the same values. Left out, it is an error.",
	text, func(s *Source) *string { return &s.Namespace }).as("c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17")

var fromField = of("from", "The columns that the key is made from, each a name or {column, type}, in the order in which their values are part of it. Left out, it is an error.",
	scopeShape(), func(s *Source) **Scope { return &s.From }).as([]string{"order_id", "line_no"}).
	ruled(fieldRules{suit: func(n namer, m *mistakes, p place, s Source) { n.suitColumns(m, p.in("from"), s.from()) }})

func checkUUIDv5(m *mistakes, p place, s Source) {
	id, err := uuid.Parse(s.Namespace)
	switch {
	case m.has(p.in("namespace")):
	case s.Namespace == "":
		m.wrong(p, "namespace is missing; give a random UUID, as keyfill gen uuidv4 prints, and never change it")
	case err != nil || len(s.Namespace) != len(uuid.Nil.String()):
		m.wrong(p.in("namespace"), "the namespace is no UUID: write a UUID of 36 characters, such as a random one")
	case id == uuid.Nil:
		m.wrong(p.in("namespace"), "the zero UUID is no namespace of its own; give a random one")
	}
	switch {
	case m.has(p.in("from")):
	case s.From == nil || len(*s.From) == 0:
		m.wrong(p, "from is missing; name the columns that the key is made from")
	default:
		checkColumns(m, p.in("from"), *s.From)
	}
}

// from returns the columns of From, or nil if it is nil.
func (s Source) from() []ScopeColumn { return s.From.columns() }
