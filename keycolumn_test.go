package keyfill_test

import (
	"slices"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// TestKeyColumn: keys that a library may set before the INSERT are distinguished from
// keys that only the INSERT can draw.
func TestKeyColumn(t *testing.T) {
	sequence := policy.Source{Kind: policy.KindSequence, EnsureSchema: true}
	joined := sequence
	joined.Transaction = policy.TransactionJoined
	tables := map[string]policy.Table{
		"texts":    {Column: "id"},
		"numbers":  {Column: "no", InPlace: &sequence},
		"invoices": {Column: "no", InPlace: &joined},
		"nulls":    {Column: "id", Fill: policy.FillNull},
		"off":      {Column: "id", Mode: policy.ModeOff},
		"engines":  {Column: "id", Source: policy.KindIdentity},
	}
	for _, c := range []struct {
		dialect, table, column string
		anytime                bool
	}{
		{"postgres", "texts", "id", true},
		{"postgres", "TEXTS", "id", true},
		{"postgres", "numbers", "no", true},
		{"postgres", "invoices", "no", false},
		{"postgres", "nulls", "id", false},
		{"postgres", "off", "id", false},
		{"postgres", "engines", "", false},
		{"postgres", "others", "", false},
		{"sqlite", "texts", "id", true},
		{"sqlite", "numbers", "no", false}, // Keys would wait for the caller's own transaction
	} {
		db := open(t, &fakeDriver{strength: contexts}, keyfill.Options{Policy: &policy.Config{Dialect: c.dialect, Tables: tables}})
		m, err := keyfill.From(db)
		if err != nil {
			t.Fatal(err)
		}
		if column, anytime := m.KeyColumn(c.table); column != c.column || anytime != c.anytime {
			t.Errorf("%s: KeyColumn(%q) = %q, %v, want %q, %v", c.dialect, c.table, column, anytime, c.column, c.anytime)
		}
	}
	for _, c := range []struct{ dialect, written, column string }{
		{"postgres", "Id", "id"}, {"postgres", `"Id"`, "Id"}, {"oracle", "Id", "ID"}, {"oracle", `"Id"`, "Id"},
		{"mysql", "Id", "id"}, {"mariadb", "`Id`", "id"}, {"sqlite", `"Id"`, "id"}, {"sqlserver", "[Id]", "id"},
	} {
		one := map[string]policy.Table{"t": {Column: c.written}}
		m, err := keyfill.From(open(t, &fakeDriver{strength: contexts}, keyfill.Options{Policy: &policy.Config{Dialect: c.dialect, Tables: one}}))
		if err != nil {
			t.Fatal(err)
		}
		if column, _ := m.KeyColumn("t"); column != c.column || !slices.Equal(m.KeyColumns("t"), []string{c.column}) {
			t.Errorf("%s: the column %s is %q, want %q", c.dialect, c.written, column, c.column)
		}
	}
	two := map[string]policy.Table{"two": {Column: "id", Keys: []policy.Key{{Column: "no", InPlace: &joined}, {Column: "left", Fill: policy.FillNull}}}, "off": tables["off"]}
	m, err := keyfill.From(open(t, &fakeDriver{strength: contexts}, keyfill.Options{Policy: &policy.Config{Dialect: "postgres", Tables: two}}))
	if err != nil {
		t.Fatal(err)
	}
	for table, want := range map[string][]string{"two": {"id", "no"}, "off": nil, "others": nil} {
		if columns := m.KeyColumns(table); !slices.Equal(columns, want) {
			t.Errorf("KeyColumns(%q) = %q, want %q", table, columns, want)
		}
	}
	stood := keyfill.Options{
		Policy:    &policy.Config{Dialect: "sqlite", Tables: tables},
		Reservers: func(string) keysource.Reserver { return nil },
	}
	m, err = keyfill.From(open(t, &fakeDriver{strength: contexts}, stood))
	if err != nil {
		t.Fatal(err)
	}
	if column, anytime := m.KeyColumn("numbers"); column != "no" || !anytime {
		t.Errorf("with a stand-in for stores: KeyColumn = %q, %v", column, anytime)
	}
}
