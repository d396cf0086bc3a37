package words_test

import (
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/goldens"
	"github.com/keyfill/keyfill/internal/rewrite/scan"
	"github.com/keyfill/keyfill/internal/rewrite/words"
)

func TestConcerns(t *testing.T) {
	tests := []struct {
		query string
		want  string // the dialects that it concerns
	}{
		{"", ""},
		{"i", ""},
		{"INSER", ""},
		{"insert", "mysql mariadb postgres sqlite sqlserver oracle"},
		{" Insert", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"(iNSERT", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"SELECT 'INSERT'", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"/*!50000INSERT*/", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"INSERTBULK {}", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"\u00a0INSERT", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"@insert", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"SELECT 0xABINSERT", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"SELECT 0xINSERT", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"SELECT 1eINSERT", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"SELECT 1.eINSERT", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"SELECT .5eINSERT", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"SELECT a.0xINSERT", "mysql mariadb postgres sqlite sqlserver oracle"},
		{"SELECT t.einsert", ""},
		{"SELECT a_1_insert", ""},
		{"beadINSERT", ""},
		{"reinsert", ""},
		{"_insert", ""},
		{"SELECT replace(a, 'b', 'c')", "mysql mariadb sqlite"},
		{"irreplaceable", ""},
		{"MERGE INTO t", "postgres sqlserver oracle"},
		{"submerge emerge", ""},
		{"COPY t FROM STDIN", "postgres"},
		{"load data", "mysql mariadb"},
		{"DELETE FROM t OUTPUT deleted.a INTO u", "sqlserver"},
		{"SELECT c.name, o.total FROM customers c JOIN orders o ON o.customer_id = c.id", ""},
		{strings.Repeat("x", 1000), ""},
	}
	for _, tt := range tests {
		for _, d := range dialect.All() {
			want := goldens.Has(tt.want, d)
			if got := words.Concerns(d, tt.query)&words.ConcernsInsert != 0; got != want {
				t.Errorf("%s: Concerns(%q)&ConcernsInsert is set: %v, want %v", d.Name, tt.query, got, want)
			}
		}
	}
}

// The look into every third byte finds a verb at whatever offset it stands.
func TestConcernsEverywhere(t *testing.T) {
	for _, d := range dialect.All() {
		for _, verb := range []string{"insert", "INSERT", "Insert"} {
			for before := range 20 {
				for behind := range 5 {
					q := strings.Repeat(" ", before) + verb + strings.Repeat("(", behind)
					if words.Concerns(d, q)&words.ConcernsInsert == 0 {
						t.Errorf("%s: Concerns(%q) has no ConcernsInsert", d.Name, q)
					}
				}
			}
		}
	}
}

func TestConcernsAllocates(t *testing.T) {
	for _, d := range dialect.All() {
		for _, query := range []string{passed, "Select 1; Begin Tran", "INSERT INTO t (a) VALUES (1);"} {
			if n := testing.AllocsPerRun(100, func() { words.Concerns(d, query) }); n != 0 {
				t.Errorf("%s: Concerns(%q) allocates %v times, want 0", d.Name, query, n)
			}
		}
	}
}

func TestEqualWord(t *testing.T) {
	tests := []struct {
		text, word string
		want       bool
	}{
		{"", "", true},
		{"insert", "insert", true},
		{"INSERT", "insert", true},
		{"InSeRt", "insert", true},
		{"insert", "insertx", false},
		{"insertx", "insert", false},
		{"in\x13ert", "insert", false}, // S without bit 0x40
		{"\x49nsert", "insert", true},  // I
		{"[", "{", false},              // bit 0x20 apart, no letters
		{"\u212a", "k", false},         // the Kelvin sign itself
		{"ınsert", "insert", false},    // dotless i
		{"on", "on", true},
	}
	for _, tt := range tests {
		if got := scan.EqualWord(tt.text, tt.word); got != tt.want {
			t.Errorf("EqualWord(%q, %q) = %v, want %v", tt.text, tt.word, got, tt.want)
		}
	}
}
