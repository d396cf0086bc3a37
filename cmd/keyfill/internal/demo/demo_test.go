package demo

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

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
