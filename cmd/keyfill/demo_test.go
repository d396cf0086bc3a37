package main

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestDemo reads what the demo prints.
func TestDemo(t *testing.T) {
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	t.Setenv("KEYFILL_MODE", "off") // is for the user's databases
	out := keyfillOut(t, "", "demo", "--rows", "2000")
	for _, part := range []string{
		"CREATE TABLE customer", "customers: {column: id}",
		"written  INSERT INTO customers (name, city) VALUES (?, ?)\n",
		`sent  INSERT INTO customers (name, city, "id") VALUES (?, ?, ?)` + "\n",
		`sent  INSERT INTO events (kind, note, "id") VALUES (?, ?, ?), (?, ?, ?), (?, ?, ?)` + "\n",
		`sent  INSERT INTO devices (label, "id") VALUES (?, ?) RETURNING id, label` + "\n",
		"returned  id ",
		`sent  INSERT INTO events (kind, "id") VALUES ('backup', '01`,
		"sent  INSERT INTO customers (id, name, city) VALUES (?, ?, ?)\n",
		`error  keyfill: table "customers": byte `,
		"2,000 rows for each kind of key",
		"INTEGER PRIMARY KEY ", "random UUIDv4, as text ", "keyfill's UUIDv7, as text ", "keyfill's UUIDv7, layout: binary ",
		"With so few rows the index fits",
	} {
		if !strings.Contains(out, part) {
			t.Errorf("%q is missing", part)
		}
	}
	for line := range strings.Lines(out) {
		if n := utf8.RuneCountInString(line); n > 100 {
			t.Errorf("a line of %d characters: %q", n, line)
		}
		if strings.TrimRight(line, " \n")+"\n" != line {
			t.Errorf("spaces at the end of %q", line)
		}
	}
	left, err := os.ReadDir(temp)
	if err != nil || len(left) > 0 {
		t.Errorf("the demo left %v, %v", left, err)
	}
	checkShownKeys(t, out)
}

// shownKey is a key as the demo prints it: a UUIDv7, a ULID or 16 bytes.
var shownKey = regexp.MustCompile(uuidv7Text.String() + "|'" + ulidText.String() + "'|x'[0-9a-f]{32}'")

// checkShownKeys makes sure that the keys shown as sent, as returned and as
// stored are the same.
func checkShownKeys(t *testing.T, out string) {
	t.Helper()
	var sent, stored []string
	const labelWidth = 10
	label := ""
	for line := range strings.Lines(out) {
		if words := strings.Fields(line); len(words) > 0 && len(line) > labelWidth && strings.TrimSpace(line[:labelWidth]) == words[0] {
			label = words[0]
		}
		keys := shownKey.FindAllString(line, -1)
		switch label {
		case "written":
			if keys != nil {
				t.Errorf("the application wrote %q", keys)
			}
		case "sent":
			sent = append(sent, keys...)
		case "returned":
			if keys != nil && !slices.Equal(keys, sent[len(sent)-1:]) {
				t.Errorf("returned %q, sent %q", keys, sent)
			}
		case "stored":
			stored = append(stored, keys...)
		}
	}
	if want := 1 + 3 + 1 + 1; len(sent) != want {
		t.Errorf("%d keys are shown as sent, want %d", len(sent), want)
	}
	if !slices.Equal(sent, stored) {
		t.Errorf("shown as sent %q, as stored %q", sent, stored)
	}
}
