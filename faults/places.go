package main

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// places reports the recorded mutants (single changes of the code) whose node is not in the
// code any more, and returns an error if there are some. If mend is true, it first searches
// for the node of such a mutant under a new place or name, since declarations may have
// moved or been renamed, and writes the new place into the file.
func places(root, work, file string, mend bool, out io.Writer) error {
	entries, err := readEntries(file)
	if err != nil {
		return err
	}
	t, err := copyTree(root, filepath.Join(work, "places"))
	if err != nil {
		return err
	}
	found, err := findCandidates(t)
	if err != nil {
		return err
	}
	gone, mended := 0, 0
	for _, e := range entries {
		if e.Mutant == nil || slices.ContainsFunc(found, func(c candidate) bool { return c.key == *e.Mutant }) {
			continue
		}
		before := e.String()
		if to, ok := moved(*e.Mutant, found); mend && ok {
			*e.Mutant = to
			mended++
			fmt.Fprintf(out, "mended: %s\n    now %s\n", before, e.String())
			continue
		}
		gone++
		fmt.Fprintf(out, "gone: %s\n", before)
	}
	if mended > 0 {
		if err := writeEntries(file, entries); err != nil {
			return err
		}
	}
	if gone > 0 {
		return fmt.Errorf("%d mutants name a place that is not there: give their new places, or remove their lines", gone)
	}
	return nil
}

// moved returns the place of the node that a mutant has become: the same change, in a
// function of the same name, of a node that differs only in qualifiers, capitals and the
// way in which a method is called. ok is false if there is no such node, or if there are
// several in different functions.
func moved(k key, found []candidate) (to key, ok bool) {
	var alike []key
	for _, name := range []func(string) string{typedName, bareName} { // compare the bare name too, since a method may have become a function
		for _, c := range found {
			if c.Kind == k.Kind && name(c.Function) == name(k.Function) && bareNode(c.Node) == bareNode(k.Node) {
				alike = append(alike, c.key)
			}
		}
		if len(alike) > 0 {
			break
		}
	}
	same := func(a, b key) bool { return a.Package == b.Package && a.Function == b.Function }
	for _, c := range alike {
		if !same(c, alike[0]) {
			return key{}, false
		}
		if c.Ordinal == k.Ordinal {
			to, ok = c, true
		}
	}
	if !ok && len(alike) == 1 {
		return alike[0], true
	}
	return to, ok
}

// typedName returns the name of a function with its receiver's type, in lower case.
func typedName(function string) string {
	return strings.ToLower(strings.NewReplacer("(", "", ")", "", "*", "").Replace(function))
}

// bareName returns the name of a function without its receiver, in lower case.
func bareName(function string) string {
	return strings.ToLower(function[strings.LastIndexByte(function, '.')+1:])
}

var (
	qualifiers = regexp.MustCompile(`[&*]?\b[A-Za-z_]\w*\.`)
	firstComma = regexp.MustCompile(`\([A-Za-z_]\w*(, |\))`)
)

// bareNode returns the text of a node without qualifiers, and without the first argument of
// a call, which may be a former receiver, in lower case.
func bareNode(node string) string {
	node = qualifiers.ReplaceAllString(node, "")
	return strings.ToLower(firstComma.ReplaceAllString(node, "("))
}
