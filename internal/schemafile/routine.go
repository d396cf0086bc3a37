package schemafile

import (
	"strings"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// createTrigger reads the rest of a statement after CREATE TRIGGER, and stores the trigger
// if it runs at an INSERT.
func (r *reader) createTrigger(s *statement) {
	s.accept("if", "not", "exists")
	_, name := s.qualified()
	trigger := catalog.Trigger{Name: name}
	isInsert := false
	if r.d.Family == dialect.FamilySQLServer { // ON and the table come first
		s.accept("on")
		t := r.table(s.qualified())
		for !s.isEnd() && !s.is("as") {
			isInsert = isInsert || s.is("insert")
			s.next()
		}
		r.addTrigger(t, trigger, isInsert, s)
		return
	}
	for !s.isEnd() && !s.accept("on") {
		trigger.Before = trigger.Before || s.is("before")
		isInsert = isInsert || s.is("insert")
		s.next()
	}
	t := r.table(s.qualified())
	if t == nil || !isInsert {
		return
	}
	if r.d.Family == dialect.FamilyPostgreSQL {
		for !s.isEnd() && !s.accept("execute") {
			s.skip()
		}
		s.next() // skips FUNCTION or PROCEDURE
		_, function := s.qualified()
		r.calls = append(r.calls, call{t, trigger, function})
		return
	}
	r.addTrigger(t, trigger, isInsert, s)
}

// addTrigger adds a trigger to its table, with the rest of the statement as the trigger's
// body.
func (r *reader) addTrigger(t *catalog.Declaration, trigger catalog.Trigger, isInsert bool, s *statement) {
	if t == nil || !isInsert {
		return
	}
	trigger.Body = textOf(s.tokens[s.at:])
	t.Triggers = append(t.Triggers, trigger)
}

// createFunction stores the body of a function of PostgreSQL, which a trigger may call.
func (r *reader) createFunction(s *statement) {
	if r.d.Family != dialect.FamilyPostgreSQL {
		return
	}
	_, name := s.qualified()
	for !s.isEnd() {
		if s.accept("as") && !s.isEnd() && s.tokens[s.at].kind == scan.String {
			r.bodies[name] = strings.Trim(s.next().text, "$'")
			return
		}
		s.skip()
	}
}

// createDomain stores the type of a domain.
func (r *reader) createDomain(s *statement) {
	_, name := s.qualified()
	s.accept("as")
	c := &catalog.Declared{Name: name}
	r.typeOf(c, s)
	r.domains[strings.ToLower(name)] = c
}

// createCollation stores the name of a collation in which two different texts may be equal.
func (r *reader) createCollation(s *statement) {
	s.accept("if", "not", "exists")
	_, name := s.qualified()
	inner, _ := s.brackets()
	for _, part := range parts(inner) {
		p := &statement{d: r.d, tokens: part}
		if p.accept("deterministic") && p.accept("=") && p.is("false") {
			r.loose[name] = true
		}
	}
}
