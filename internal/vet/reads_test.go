package vet_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/vet"
)

// TestReads: a text that asks the session for a number which the policy makes is
// reported, on every engine that has such reads.
func TestReads(t *testing.T) {
	for _, tt := range []struct{ dialect, text, want string }{
		{"postgres", "SELECT lastval()", "lastval()"},
		{"postgres", "INSERT INTO notes (parent) VALUES (lastval())", "lastval()"},
		{"postgres", "INSERT INTO orders (note) VALUES ('a'); SELECT currval('orders_id_seq')", "currval()"},
		{"postgres", "SELECT currval(pg_get_serial_sequence('orders', 'id'))", "currval()"},
		{"postgres", "SELECT currval('links_id_seq')", ""},
		{"postgres", "SELECT currval('customers_id_seq')", ""},
		{"postgres", "SELECT currval(pg_get_serial_sequence('notes', 'id'))", ""},
		{"postgres", "SELECT nextval('orders_id_seq')", ""},
		{"sqlserver", "INSERT INTO orders (note) VALUES ('a'); SELECT SCOPE_IDENTITY()", "SCOPE_IDENTITY()"},
		{"sqlserver", "SELECT @@IDENTITY", "@@IDENTITY"},
		{"sqlserver", "SELECT IDENT_CURRENT('dbo.orders')", "IDENT_CURRENT()"},
		{"sqlserver", "SELECT IDENT_CURRENT('notes')", ""},
		{"oracle", "INSERT INTO notes (parent) VALUES (orders_id_seq.CURRVAL)", "ORDERS_ID_SEQ.CURRVAL"},
		{"mariadb", "SELECT PREVIOUS VALUE FOR orders_id_seq", "PREVIOUS VALUE FOR"},
		{"mariadb", "SELECT LAST_INSERT_ID()", ""},
		{"sqlite", "SELECT last_insert_rowid()", ""},
	} {
		s, err := judge(t, tt.dialect).Script("a.sql", strings.NewReader(strings.ReplaceAll(tt.text, "); ", ") ;;\n")+";"), false)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(s.Findings, func(f vet.Finding) bool { return f.Rule == vet.RuleSessionReads })
		got := ""
		if i >= 0 {
			got, _, _ = strings.Cut(s.Findings[i].Message, " does not know")
		}
		if got != tt.want {
			t.Errorf("%s: %q: told %q, want %q", tt.dialect, tt.text, got, tt.want)
		}
	}
}
