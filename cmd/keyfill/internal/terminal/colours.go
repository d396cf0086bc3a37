// Package terminal shows text: in colours and with a bar of progress where the output is a
// terminal, in lines of a given width, and numbers as people read them.
package terminal

import (
	"io"
	"os"
)

// Colour is how a word is shown on a terminal: a parameter of the sequence Select
// Graphic Rendition (ECMA-48, section 8.3.117).
type Colour string

// The colours in which the command prints words.
const (
	Red    Colour = "31"
	Green  Colour = "32"
	Yellow Colour = "33"
)

// Colours reports whether an output shows colours.
type Colours bool

// ColoursOf reports whether an output shows colours: a terminal does, unless the user has set
// NO_COLOR (no-color.org) or TERM is dumb.
func ColoursOf(out io.Writer) Colours {
	return Colours(Is(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// Paint returns a word in a colour. If in is empty, the word has no colour.
func (c Colours) Paint(in Colour, word string) string {
	if !c || in == "" {
		return word
	}
	return "\x1b[" + string(in) + "m" + word + "\x1b[0m"
}

// Is reports whether a stream of the command is a terminal.
func Is(stream any) bool {
	file, isFile := stream.(*os.File)
	if !isFile {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// ActionColours are the colours of outcomes of statements; other outcomes have none.
var ActionColours = map[string]Colour{"fill": Green, "refuse": Red}
