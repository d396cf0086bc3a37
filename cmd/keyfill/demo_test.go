package main

import (
	"os"
	"path/filepath"
	"reflect"
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
		schema[:20], "customers: {column: id}",
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

// TestDemoStatements compares the values themselves.
func TestDemoStatements(t *testing.T) {
	app, err := openApplication(t.Context(), filepath.Join(t.TempDir(), "a ? b%.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.close(); err != nil {
			t.Error(err)
		}
	})
	for _, s := range statements {
		t.Run(s.title, func(t *testing.T) {
			done, err := app.perform(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			if s.rows == 0 {
				if done.refusal == nil || done.sent != nil || done.stored.rows != nil {
					t.Errorf("not refused: %+v", done)
				}
				return
			}
			if done.refusal != nil || len(done.sent) != 1 || len(done.stored.rows) != s.rows {
				t.Fatalf("got %+v", done)
			}
			for i, row := range done.stored.rows {
				checkStored(t, done, i, row)
			}
			if done.returned != nil && !reflect.DeepEqual(done.returned, done.stored) {
				t.Errorf("returned %v, stored %v", done.returned, done.stored)
			}
		})
	}
}

// checkStored looks for the key of a stored row in what was sent for it.
func checkStored(t *testing.T, done performed, i int, row []any) {
	t.Helper()
	key, m := row[slices.Index(done.stored.columns, "id")], done.sent[0]
	if len(m.args) == 0 {
		if !strings.Contains(m.query, literal(key)) {
			t.Errorf("row %d is stored under %v, sent %q", i, key, m.query)
		}
		return
	}
	width := len(m.args) / done.rows
	if !slices.ContainsFunc(m.args[i*width:(i+1)*width], func(v any) bool { return reflect.DeepEqual(v, key) }) {
		t.Errorf("row %d is stored under %v, sent %v", i, key, m.args)
	}
}

// TestConclusion says nothing that the numbers do not.
func TestConclusion(t *testing.T) {
	found := []measurement{
		byInteger:  {time: 100, bytes: 100, pages: 10},
		byV4:       {time: 900, bytes: 200, pages: 900},
		byV7:       {time: 200, bytes: 200, pages: 50},
		byBinaryV7: {time: 200, bytes: 150, pages: 40},
	}
	const (
		times = "9.0 times as long as INTEGER, and keyfill's ordered ones 2.0 times"
		pages = "wrote 900 pages for each 1,000 rows, and 50 for keyfill's ordered ones: 18 times as many"
		space = "saves no space"
		few   = "With so few rows"
	)
	for _, tt := range []struct {
		name   string
		change func(f []measurement)
		want   []string
	}{
		{"as expected", func([]measurement) {}, []string{times, pages, space}},
		{"few rows", func(f []measurement) { f[byV7].pages = 800 }, []string{times, few}},
		{"order saves space", func(f []measurement) { f[byV7].bytes = 160 }, []string{times, pages}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := slices.Clone(found)
			tt.change(f)
			got := conclusion(f, 1000)
			for _, part := range []string{times, pages, space, few} {
				if strings.Contains(got, part) != slices.Contains(tt.want, part) {
					t.Errorf("got %q, want of it %q", got, tt.want)
				}
			}
		})
	}
}

func TestLiteral(t *testing.T) {
	for want, v := range map[string]any{"NULL": nil, "'a'": "a", "x'00ff'": []byte{0, 255}, "-7": int64(-7)} {
		if got := literal(v); got != want {
			t.Errorf("literal(%v) = %q, want %q", v, got, want)
		}
	}
}

func TestWrap(t *testing.T) {
	text := "one two three"
	for _, tt := range []struct {
		width int
		want  []string
	}{
		{3, []string{"one", "two", "three"}},
		{7, []string{"one two", "three"}},
		{13, []string{text}},
	} {
		if got := wrap(text, tt.width); !slices.Equal(got, tt.want) {
			t.Errorf("wrap(%q, %d) = %q, want %q", text, tt.width, got, tt.want)
		}
	}
}

func TestGrouped(t *testing.T) {
	for n, want := range map[int]string{0: "0", 100: "100", 1000: "1,000", 1234567: "1,234,567"} {
		if got := grouped(n); got != want {
			t.Errorf("grouped(%d) = %q, want %q", n, got, want)
		}
	}
}
