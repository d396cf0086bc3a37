// Package anchor adds to the text of an error the section of docs/errors.md that explains
// its cause and its remedy.
//
// An error of this module belongs to a section, which [New] and [Errorf] set. Each layer
// adds its words before the text of an error, so the section is added when an error leaves
// the module: [End] puts it at the end of the text, once, as in
//
//	keyfill: table "orders": … [docs/errors.md#exhausted]
//
// The errors of drivers, of engines and of contexts have no section.
package anchor

import (
	"fmt"
	"regexp"
)

// General is the section of errors about a store for which no other section is named.
const General = "store-state"

// Beneath is the section of an error whose text ends in the text of another module's error.
const Beneath = "beneath"

// New returns an error as errors.New does. The error belongs to a section.
func New(section, text string) error { return &sentinel{section, text} }

// Newf does what [New] does, for a text that is formatted when the error happens. Its
// arguments are shown in logs too, as texts of New are: none may be a value, a name or a
// text from outside the module.
func Newf(section, format string, args ...any) error {
	return &sentinel{section, fmt.Sprintf(format, args...)}
}

// Last does what [New] does, for an error that leaves the module without being wrapped: its
// text ends in its anchor, which names the section.
func Last(section, text string) error { return &sentinel{section, Mark(text, section)} }

// Errorf returns an error as fmt.Errorf does. The error belongs to a section. A wrapped
// error that has a section keeps its own.
func Errorf(section, format string, args ...any) error {
	return &framed{section, fmt.Errorf(format, args...)}
}

// Lastf does what [Errorf] does, for an error that leaves the module without being wrapped.
func Lastf(section, format string, args ...any) error {
	return End(Errorf(section, format, args...))
}

// Endf returns an error as fmt.Errorf does, for a package that programs call directly: its
// text ends in the anchor of the section of the error that it wraps. If no wrapped error
// has a section, the text has no anchor.
func Endf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if section := Of(err); section != "" {
		return &ended{section, err}
	}
	return err
}

// sentinel is an error with a section, which errors.Is finds.
type sentinel struct{ section, text string }

func (s *sentinel) Error() string { return s.text }

// framed is an error that has a section.
type framed struct {
	section string
	error
}

func (f *framed) Unwrap() error { return f.error }

// Of returns the section of an error: the section of the innermost error that has one, and
// of several errors side by side the last one that is not [General]. It is empty if no
// error has a section.
func Of(err error) string {
	own := ""
	switch e := err.(type) {
	case nil:
		return ""
	case *sentinel:
		return e.section
	case *framed:
		own = e.section
	}
	inner := ""
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		inner = Of(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if section := Of(one); inner == "" || section != "" && section != General {
				inner = section
			}
		}
	}
	if inner != "" {
		return inner
	}
	return own
}

// Known returns the text and the section of the error from [New] by which [Of] finds the
// section. The text holds nothing from a caller, a driver or an engine. Both are empty if
// there is no such error.
func Known(err error) (text, section string) {
	if e, ok := err.(*sentinel); ok {
		return Plain(e.text), e.section
	}
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		return Known(e.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			if t, of := Known(one); section == "" || of != "" && of != General {
				text, section = t, of
			}
		}
	}
	return text, section
}

// mark matches an anchor at the end of a text, or in the middle, if a text with an anchor
// became a part of another one.
var mark = regexp.MustCompile(` \[docs/errors\.md#([a-z_-]+)\]`)

// Marked returns the section whose anchor ends a text, empty if there is none.
func Marked(text string) string {
	all := mark.FindAllStringSubmatchIndex(text, -1)
	if len(all) == 0 || all[len(all)-1][1] != len(text) {
		return ""
	}
	last := all[len(all)-1]
	return text[last[2]:last[3]]
}

// Mark returns a text that ends in the anchor of a section, and has no other anchor.
func Mark(text, section string) string {
	return Plain(text) + " [docs/errors.md#" + section + "]"
}

// Plain returns a text without anchors.
func Plain(text string) string { return mark.ReplaceAllString(text, "") }

// End returns an error that leaves the module: its text ends in the anchor of its
// section. An error that ends in an anchor already, and one that has no section, such
// as a driver's, is returned as it is.
func End(err error) error {
	section := Of(err)
	if section == "" {
		return err
	}
	if text := err.Error(); Marked(text) != "" && text == Mark(text, Marked(text)) {
		return err
	}
	return &ended{section, err}
}

// ended is an error whose text ends in its anchor.
type ended struct {
	section string
	error
}

func (e *ended) Error() string { return Mark(e.error.Error(), e.section) }
func (e *ended) Unwrap() error { return e.error }
