// Package txtar reads and writes archives of small text files, which golden cases are kept
// in. The format is the one of golang.org/x/tools/txtar, for lines that end in "\n":
//
//	a comment
//	-- name.in --
//	the data of the first file
//	-- name.out --
//	the data of the second one
//
// Every text is an archive: one without a line "-- name --" is a comment. The package is a
// few lines of its own because x/tools in go.mod would move the versions of an application.
package txtar

import (
	"bytes"
	"os"
	"strings"
)

// Archive is a comment and files, in order.
type Archive struct {
	Comment []byte
	Files   []File
}

// File is one file of an archive. Its data is empty or ends in "\n".
type File struct {
	Name string // the name, without spaces around it
	Data []byte
}

// ParseFile reads a file and parses its text. The error is the one of [os.ReadFile].
func ParseFile(name string) (*Archive, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return Parse(text), nil
}

// Parse returns the archive that a text is.
func Parse(text []byte) *Archive {
	a := &Archive{}
	data := &a.Comment
	for line := range bytes.Lines(text) {
		if name := fileName(string(line)); name != "" {
			a.Files = append(a.Files, File{Name: name})
			data = &a.Files[len(a.Files)-1].Data
			continue
		}
		*data = append(*data, line...)
	}
	*data = ended(*data)
	return a
}

// Format returns the text of an archive.
func Format(a *Archive) []byte {
	text := ended(bytes.Clone(a.Comment))
	for _, f := range a.Files {
		text = append(text, "-- "+f.Name+" --\n"...)
		text = ended(append(text, f.Data...))
	}
	return text
}

// fileName returns the name in a line "-- name --". It is empty for any other line.
func fileName(line string) string {
	name, begins := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "-- ")
	name, ends := strings.CutSuffix(name, " --")
	if !begins || !ends {
		return ""
	}
	return strings.TrimSpace(name)
}

// ended returns text with "\n" at its end, unless it is empty.
func ended(text []byte) []byte {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		text = append(text, '\n')
	}
	return text
}
