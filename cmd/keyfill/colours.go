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
