package compile_test

import (
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/rewrite/bind"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
	"github.com/keyfill/keyfill/rewrite"
)

// typeID is a Valuer of a text, as publicid.ID is.
type typeID string

func (id typeID) Value() (driver.Value, error) { return string(id), nil }

func TestHolesErrors(t *testing.T) {
	my, pg, lite, ms, ora := dialect.MySQL(), dialect.PostgreSQL(), dialect.SQLite(), dialect.SQLServer(), dialect.Oracle()
	tests := []struct {
		name  string
		d     *dialect.Dialect
		query string
		args  []driver.NamedValue
		want  error
	}{
		{"none", my, "INSERT INTO orders (a) VALUES (?)", nil, rewrite.ErrArguments},
		{"too few", my, "INSERT INTO orders (a, b) VALUES (?, ?)", values("x"), rewrite.ErrArguments},
		{"too many", my, "INSERT INTO orders (a) VALUES (?)", values("x", "y"), rewrite.ErrArguments},
		{"too few for the numbers", pg, "INSERT INTO orders (a) VALUES ($3)", values("x", "y"), rewrite.ErrArguments},
		{"too many for the numbers", pg, "INSERT INTO orders (a) VALUES ($1)", values("x", "y"), rewrite.ErrArguments},
		{"an option in front", pg, "INSERT INTO orders (a) VALUES ($1)", values(struct{}{}, "y"), rewrite.ErrArguments},
		{"arguments for none", pg, "INSERT INTO orders (a) VALUES ('x')", values("x"), rewrite.ErrArguments},
		{"rewritten names", pg, "INSERT INTO orders (a) VALUES (@a)", values(map[string]any{"a": 1}), rewrite.ErrArguments},
		{"too few at numbers", ms, "INSERT INTO orders (a) VALUES (@p2)", values("x"), rewrite.ErrArguments},
		{"named for a question mark", lite, "INSERT INTO orders (a) VALUES (?)", named("a", "x"), rewrite.ErrNamed},
		{"nameless for a name", lite, "INSERT INTO orders (a) VALUES (:a)", values("x"), rewrite.ErrNamed},
		{"nameless for a name", ms, "INSERT INTO orders (a) VALUES (@a)", values("x"), rewrite.ErrNamed},
		{"named and nameless", ms, "INSERT INTO orders (a, b) VALUES (@a, @b)", append(named("a", "x"), values("y")...), rewrite.ErrNamed},
		{"the key's name is missing", ms, "INSERT INTO orders (id, a) VALUES (@id, @a)", named("a", "x"), rewrite.ErrNamed},
		{"list", ora, "INSERT INTO orders (a) VALUES (:1)", values([]string{"x", "y"}), rewrite.ErrArray},
		{"list of the key", ora, "INSERT INTO orders (id, a) VALUES (:1, :2)", values([]int64{1}, "x"), rewrite.ErrArray},
	}
	for _, tt := range tests {
		t.Run(tt.d.Name+" "+tt.name, func(t *testing.T) {
			p := compiled(t, tt.d, tt.query)
			_, err := bind.FindHoles(p, tt.args)
			if !errors.Is(err, tt.want) {
				t.Errorf("Holes(%s) of %q = %v, want %v", show(tt.args), tt.query, err, tt.want)
			}
			var r *plans.Refusal
			if !errors.As(err, &r) || r.Table != "orders" || r.Target == nil {
				t.Errorf("Holes(%s) of %q: the error does not name the table: %#v", show(tt.args), tt.query, err)
			}
		})
	}
}

const quotedUUID = `"0197b3c4-5d6e-7f80-9a1b-2c3d4e5f6071"`

// TestHolesQuoted: a UUID in double quotes is no UUID, whichever bytes it is in; other texts
// and other columns are not looked at.
func TestHolesQuoted(t *testing.T) {
	const bare = "0197b3c4-5d6e-7f80-9a1b-2c3d4e5f6071"
	for _, tt := range []struct {
		target string
		key    driver.Value
		want   error
	}{
		{"uuidv7", quotedUUID, rewrite.ErrQuotedKey},
		{"uuidv7", []byte(quotedUUID), rewrite.ErrQuotedKey},
		{"uuidv7", typeID(quotedUUID), rewrite.ErrQuotedKey},
		{"uuidv7", `"00000000-0000-0000-0000-000000000000"`, rewrite.ErrQuotedKey},
		{"uuidv7", bare, nil},
		{"uuidv7", `"abc"`, nil},
		{"uuidv7", `"0197b3c4-5d6e-7f80-9a1b-2c3d4e5f607x"`, nil},
		{"uuidv7", "'" + bare + "'", nil},
		{"uuidv7", `"` + bare, nil},
		{"integer", quotedUUID, nil},
	} {
		p := compiled(t, dialect.PostgreSQL(), "INSERT INTO orders (id, a) VALUES ($1, $2)", "orders key=id:"+tt.target)
		_, err := bind.FindHoles(p, values(tt.key, quotedUUID))
		var r *plans.Refusal
		if !errors.Is(err, tt.want) || tt.want != nil && (!errors.As(err, &r) || r.Column != "id") {
			t.Errorf("%s, key %v: %v, want %v", tt.target, tt.key, err, tt.want)
		}
	}
}

// []byte is no list in Oracle.
func TestHolesBytes(t *testing.T) {
	p := compiled(t, dialect.Oracle(), "INSERT INTO orders (a) VALUES (:1)")
	if _, err := bind.FindHoles(p, values([]byte("x"))); err != nil {
		t.Error(err)
	}
}

// What drivers hand over when an application has no key: database/sql resolves
// most of it, pgx and go-ora take every type as it is.
type (
	nullable struct { // as pgtype.UUID and sql.Null
		bytes [16]byte
		valid bool
	}
	broken     struct{}
	text       string
	number     int32
	bytes16    [16]byte
	rawMessage []byte
)

func (n nullable) Value() (driver.Value, error) {
	if !n.valid {
		return nil, nil
	}
	return uuid.UUID(n.bytes).String(), nil
}

func (broken) Value() (driver.Value, error) { return nil, errors.New("no value") }

func TestHolesValues(t *testing.T) {
	var (
		nilString *string
		nilUUID   *uuid.UUID
		empty     = ""
		zero      = int64(0)
		seven     = int64(7)
		keyUUID   = uuid.MustParse("0190163d-8694-7397-9a39-a5b8a1b4b2a0")
		zeroText  = "00000000-0000-0000-0000-000000000000"
	)
	const null, zeroes = "null", "zero"
	tests := []struct {
		name    string
		value   driver.Value
		text    string // the word of fill that makes it a hole of a UUID key, "" for none
		integer string // of an integer key
	}{
		{"nil", nil, null, null},
		{"nil bytes", []byte(nil), null, null},
		{"nil *string", nilString, null, null},
		{"nil *uuid.UUID", nilUUID, null, null},
		{"Valuer of nil", nullable{}, null, null},
		{"*Valuer of nil", &nullable{}, null, null},
		{"sql.NullString", sql.NullString{}, null, null},
		{"sql.Null", sql.Null[int64]{}, null, null},
		{"uuid.NullUUID", uuid.NullUUID{}, null, null},
		{"empty string", "", zeroes, ""},
		{"empty text", text(""), zeroes, ""},
		{"empty bytes", []byte{}, zeroes, ""},
		{"empty *string", &empty, zeroes, ""},
		{"zero UUID as text", zeroText, zeroes, ""},
		{"zero UUID as bytes of text", []byte(zeroText), zeroes, ""},
		{"zero UUID without hyphens", strings.ReplaceAll(zeroText, "-", ""), zeroes, zeroes},
		{"zero ULID", strings.Repeat("0", 26), zeroes, zeroes},
		{"zero TypeID", "cus_" + strings.Repeat("0", 26), zeroes, ""},
		{"zero TypeID as bytes of text", []byte("shop_cus_" + strings.Repeat("0", 26)), zeroes, ""},
		{"zero TypeID of 32 characters", "users_" + strings.Repeat("0", 26), zeroes, ""},
		{"zero TypeID of 36 characters", "customers_" + strings.Repeat("0", 26), zeroes, ""},
		{"Valuer of the zero TypeID", typeID("cus_" + strings.Repeat("0", 26)), zeroes, ""},
		{"TypeID", "cus_00000000000000000000000001", "", ""},
		{"zero TypeID in upper case", "CUS_" + strings.Repeat("0", 26), "", ""},
		{"zero TypeID with an empty prefix", "_" + strings.Repeat("0", 26), "", ""},
		{"zero TypeID with a space", "cus_" + strings.Repeat("0", 26) + " ", "", ""},
		{"27 zeros with a prefix", "cus_" + strings.Repeat("0", 27), "", ""},
		{"16 zero bytes", make([]byte, 16), zeroes, zeroes},
		{"[16]byte", [16]byte{}, zeroes, zeroes},
		{"named [16]byte", bytes16{}, zeroes, zeroes},
		{"uuid.UUID", uuid.UUID{}, zeroes, ""},
		{"*uuid.UUID", &uuid.UUID{}, zeroes, ""},
		{"Valuer of the zero UUID", nullable{valid: true}, zeroes, ""},
		{"int64", int64(0), "", zeroes},
		{"int", 0, "", zeroes},
		{"uint64", uint64(0), "", zeroes},
		{"named int32", number(0), "", zeroes},
		{"*int64", &zero, "", zeroes},
		{"float64", 0.0, "", zeroes},
		{"digits", "0", "", zeroes},

		{"key", keyUUID.String(), "", ""},
		{"key as UUID", keyUUID, "", ""},
		{"key as bytes", keyUUID[:], "", ""},
		{"key as [16]byte", [16]byte(keyUUID), "", ""},
		{"key as named [16]byte", bytes16(keyUUID), "", ""},
		{"key as Valuer", nullable{keyUUID, true}, "", ""},
		{"7", int64(7), "", ""},
		{"*7", &seven, "", ""},
		{"-1", int64(-1), "", ""},
		{"large uint64", uint64(1 << 63), "", ""},
		{"half", 0.5, "", ""},
		{"false", false, "", ""},
		{"space", " ", "", ""},
		{"15 zero bytes", make([]byte, 15), "", ""},
		{"named bytes", rawMessage("x"), "", ""},
		{"Valuer that fails", broken{}, "", ""},
		{"no value of SQL", struct{}{}, "", ""},
		{"sql.Out", sql.Out{Dest: new(string)}, "", ""},
		{"slice", []string{""}, "", ""},
		{"map", map[string]int{}, "", ""},
		{"function", func() {}, "", ""},
		{"[15]byte", [15]byte{}, "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, fill := range []string{null, zeroes} {
				for kind, want := range map[string]string{"": tt.text, ":integer": tt.integer} {
					p := compiled(t, dialect.PostgreSQL(), "INSERT INTO orders (id, a) VALUES ($1, $2)", "orders key=id"+kind+" fill="+fill)
					h, err := bind.FindHoles(p, values(tt.value, "x"))
					if err != nil {
						t.Fatal(err)
					}
					if h.Any() != (want == fill) {
						t.Errorf("with fill=%s a %T of key%s takes a key: %v", fill, tt.value, kind, h.Any())
					}
				}
			}
		})
	}
}

// Oracle stores the empty string as NULL.
func TestHolesEmptyIsNull(t *testing.T) {
	for _, d := range dialect.All() {
		query := "INSERT INTO orders (id) VALUES (" + placeholder(d, 1) + ")"
		p := compiled(t, d, query, "orders key=id fill=null")
		for _, v := range []driver.Value{"", []byte{}} {
			h, err := bind.FindHoles(p, values(v))
			if err != nil {
				t.Fatal(err)
			}
			if h.Any() != (d.Name == "oracle") {
				t.Errorf("%s: an empty %T takes a key: %v", d.Name, v, h.Any())
			}
		}
	}
}

// The same plan decides each execution by its own arguments.
func TestHolesByExecution(t *testing.T) {
	p := compiled(t, dialect.PostgreSQL(), "INSERT INTO orders (id, a) VALUES ($1, $2), ($3, $4)")
	for _, tt := range []struct {
		args []driver.NamedValue
		want int
	}{
		{values(int64(1), "x", int64(2), "y"), 0},
		{values(nil, "x", int64(2), "y"), 1},
		{values(int64(1), "x", int64(0), "y"), 1},
		{values(nil, "x", nil, "y"), 2},
	} {
		h, err := bind.FindHoles(p, tt.args)
		if err != nil {
			t.Fatal(err)
		}
		if h.Counts[0] != tt.want || h.Any() != (tt.want > 0) || len(bind.FilledPlaces(p, h)) != tt.want {
			t.Errorf("Holes(%s) = %v, Filled %v, want %d", show(tt.args), h.Counts, bind.FilledPlaces(p, h), tt.want)
		}
	}
}
