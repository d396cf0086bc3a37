// Package page writes results: as JSON, and as Markdown into a page that people read.
package page

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Marker returns the two lines of a page between which the results of a command are.
func Marker(name string) (begin, end string) {
	return "<!-- " + name + ": make " + name + " -->\n", "<!-- end of " + name + " -->\n"
}

// Insert returns the page with the text between the markers of name replaced. The page must
// have each of the two markers exactly once, the begin marker first.
func Insert(page, name, text string) (string, error) {
	begin, end := Marker(name)
	if strings.Count(page, begin) != 1 || strings.Count(page, end) != 1 {
		return "", fmt.Errorf("page: the lines %q and %q do not stand in the page once each; put them where the results belong",
			strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	head, rest, _ := strings.Cut(page, begin)
	_, tail, ok := strings.Cut(rest, end)
	if !ok {
		return "", fmt.Errorf("page: %q stands before %q; put them in order", strings.TrimSpace(end), strings.TrimSpace(begin))
	}
	return head + begin + text + end + tail, nil
}

// Write puts text into the page of a file, see Insert.
func Write(file, name, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	changed, err := Insert(string(old), name, text)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(changed), 0o644)
}

// WriteJSON writes a value into a file, and creates the file's folder.
func WriteJSON(file string, value any) error {
	text, err := json.MarshalIndent(value, "", "\t")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// Table returns a table of Markdown. A bar in a cell is escaped.
func Table(heads []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(heads)
	b.WriteString(strings.Repeat("|---", len(heads)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
