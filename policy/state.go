package policy

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// maxState is how many characters the name of a state may have: as many as the
// tables of a store hold.
const maxState = 190

// ColumnRef is a key column. Its names are folded.
type ColumnRef struct {
	Schema string // "" where it is not known
	Table  string
	Column string
}

// StateFor returns State with the values of an execution for {value:x}; value
// gives the one called x, and false when there is none. The error is an
// [*Error]: a value is missing or empty, State names a schema that is not
// known, or it is no name that a store can hold. It never holds a value.
func (k RuleKey) StateFor(value func(name string) (string, bool)) (string, error) {
	if k.fault != "" {
		return "", &Error{Msg: k.fault}
	}
	if len(k.Values) == 0 {
		return k.State, nil
	}
	var b strings.Builder
	for _, p := range k.state {
		if p.word != wordValue {
			b.WriteString(p.text)
			continue
		}
		v, ok := value(p.text)
		if !ok || v == "" {
			return "", &Error{section: "value", Msg: fmt.Sprintf("the state %s needs the value %q, which is not given: keyfill.WithValue(ctx, %[2]q, …)",
				showState(k.State), p.text)}
		}
		b.WriteString(v)
	}
	if msg := stateFault(b.String()); msg != "" {
		return "", &Error{Msg: fmt.Sprintf("the state %s with its values: %s", showState(k.State), msg)}
	}
	return b.String(), nil
}

// showState is [show] for the name of a state, where the colon of {value:x} is
// no sign of a DSN.
func showState(name string) string {
	if shown := show(strings.ReplaceAll(name, "{value:", "{")); shown == hidden {
		return hidden
	}
	return fmt.Sprintf("%q", name)
}

// stateFault says why a store cannot hold the name of a state, or nothing. MySQL
// and SQL Server take "a" and "a " for the same.
func stateFault(name string) string {
	switch {
	case name == "":
		return "the name of a state is empty"
	case !utf8.ValidString(name) || strings.ContainsRune(name, 0):
		return "the name of a state is text in UTF-8, without NUL"
	case strings.TrimSpace(name) != name:
		return "the name of a state neither begins nor ends with a space"
	case utf8.RuneCountInString(name) > maxState:
		return fmt.Sprintf("the name of a state has at most %d characters", maxState)
	}
	return ""
}

// checkState checks the name of a state that the source at p gives.
func (m *mistakes) checkState(p place, s Source) {
	if s.Name == "" {
		return
	}
	t, msg := parseTemplate(s.Name)
	if msg == "" {
		msg = t.fault()
	}
	if msg != "" {
		m.wrong(p.in("name"), "%s", msg)
	}
}

// fault is stateFault for the known parts of t: of a word, that it stands for
// something.
func (t template) fault() string {
	var b strings.Builder
	for _, p := range t {
		if p.word == wordText {
			b.WriteString(p.text)
		} else {
			b.WriteString("x")
		}
	}
	return stateFault(b.String())
}
