package main

import (
	"io"
	"os"
)

// colour is how a word is shown on a terminal: a parameter of the sequence Select
// Graphic Rendition (ECMA-48, section 8.3.117).
type colour string

const (
	red    colour = "31"
	green  colour = "32"
	yellow colour = "33"
)

// colours says whether words have colours.
type colours bool

// coloursOf returns whether an output has colours: a terminal has, unless the user has
// set NO_COLOR (no-color.org) or the terminal is known to have none.
func coloursOf(out io.Writer) colours {
	return colours(isTerminal(out) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb")
}

// paint returns a word in a colour; "" is no colour.
func (c colours) paint(in colour, word string) string {
	if !c || in == "" {
		return word
	}
	return "\x1b[" + string(in) + "m" + word + "\x1b[0m"
}

// isTerminal reports whether a stream of the command is a terminal.
func isTerminal(stream any) bool {
	file, isFile := stream.(*os.File)
	if !isFile {
		return false
	}
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// actionColours are the colours of outcomes of statements; the others have none.
var actionColours = map[string]colour{"fill": green, "refuse": red}
