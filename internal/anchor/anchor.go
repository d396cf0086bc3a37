// Package anchor leads from an error to the section of docs/errors.md that explains its
// cause and its cure.
//
// An error of this module belongs to a section: [New] and [Errorf] say to which. The
// texts of errors are put together from inside out, so the section is named where an
// error leaves the module: [End] puts it at the end of the text, once, as in
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

// Beneath is the section of an error that ends in the text of another module.
const Beneath = "beneath"

// New is errors.New for an error of a section.
func New(section, text string) error { return &sentinel{section, text} }

// Newf is [New] for a text that is known when the error is met. Its arguments are shown in
// logs too, as texts of New are: none may be a value, a name or a text of others.
func Newf(section, format string, args ...any) error {
	return &sentinel{section, fmt.Sprintf(format, args...)}
}

// Last is [New] for an error that leaves the module as it is: its text ends in its
// anchor.
func Last(section, text string) error { return &sentinel{section, Mark(text, section)} }

// Errorf is fmt.Errorf for an error of a section. An error in it that has a section of
// its own keeps it.
func Errorf(section, format string, args ...any) error {
	return &framed{section, fmt.Errorf(format, args...)}
}

// Lastf is [Errorf] for an error that leaves the module as it is.
func Lastf(section, format string, args ...any) error {
	return End(Errorf(section, format, args...))
}

// Endf is fmt.Errorf for an error of a package that programs call directly: its text ends
// in the anchor of the section of the error that it wraps. Without a section in its chain
// it is as fmt.Errorf makes it.
func Endf(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if section := Of(err); section != "" {
		return &ended{section, err}
	}
	return err
}

// sentinel is an error that errors.Is finds.
type sentinel struct{ section, text string }

func (s *sentinel) Error() string { return s.text }

// framed is an error that has a section.
type framed struct {
	section string
	error
}

func (f *framed) Unwrap() error { return f.error }

// Of returns the section of an error: the one that is named innermost, and of several
// errors side by side the last that is not [General]. It is empty for an error that has
// none.
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

// Known returns the text of the error that [New] has made and by which [Of] finds a
// section, and that section. The text holds nothing that a caller, a driver or an engine
// has said. Both are empty if there is no such error.
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

// mark is the anchor at the end of a text, or in the middle, where a text with an
// anchor became a part of another one.
var mark = regexp.MustCompile(` \[docs/errors\.md#([a-z_-]+)\]`)

// Marked returns the section that a text ends in, which may be empty.
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
