package numbering_test

import (
	"database/sql/driver"
	"math"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/catalog"
	"github.com/keyfill/keyfill/internal/keys/numbering"
	"github.com/keyfill/keyfill/policy"
)

func TestScopeValues(t *testing.T) {
	mysql, postgres := dialect.MySQL(), dialect.PostgreSQL()
	integer := func(bits int, kind string) *catalog.Column {
		return &catalog.Column{Name: "parent", Type: kind, Integer: true, Bits: bits}
	}
	text := func(collation string, length int) *catalog.Column {
		return &catalog.Column{Name: "parent", Type: "varchar", Text: true, Length: length, Collation: collation}
	}
	for _, tt := range []struct {
		name    string
		dialect *dialect.Dialect
		column  *catalog.Column
		value   driver.Value
		want    any // nil: refused
	}{
		{"an integer", postgres, integer(63, "bigint"), int64(7), int64(7)},
		{"its digits", postgres, integer(63, "bigint"), "7", int64(7)},
		{"other digits", postgres, integer(63, "bigint"), "007", int64(7)},
		{"a sign", postgres, integer(63, "bigint"), "-7", int64(-7)},
		{"unsigned", mysql, integer(64, "bigint(20) unsigned"), uint64(7), int64(7)},
		{"the greatest", mysql, integer(64, "bigint(20) unsigned"), uint64(math.MaxUint64), uint64(math.MaxUint64)},
		{"the digits of the greatest", mysql, integer(64, "bigint(20) unsigned"), "18446744073709551615", uint64(math.MaxUint64)},
		{"the greatest where it does not fit", mysql, integer(63, "bigint(20)"), uint64(math.MaxUint64), nil},
		{"an integer that SQLite rounds", dialect.SQLite(), integer(63, "BIGINT"), uint64(1 << 63), nil},
		{"a decimal of 20 digits", mysql, integer(66, "decimal(20,0)"), uint64(1 << 63), uint64(1 << 63)},
		{"too great for every one", mysql, integer(64, "bigint(20) unsigned"), "18446744073709551616", nil},
		{"bytes of digits", mysql, integer(31, "int(11)"), []byte("7"), int64(7)},
		{"bytes elsewhere", postgres, integer(31, "integer"), []byte("7"), nil},
		{"too great", mysql, integer(31, "int(11)"), int64(1 << 31), nil},
		{"too small", mysql, integer(31, "int(11)"), int64(-1 << 32), nil},
		{"below an unsigned one", mysql, integer(32, "int(10) unsigned"), int64(-1), nil},
		{"space", postgres, integer(63, "bigint"), " 7", nil},
		{"a fraction", postgres, integer(63, "bigint"), "7.0", nil},
		{"a float", postgres, integer(63, "bigint"), 7.0, nil},
		{"a truth", postgres, integer(63, "bigint"), true, nil},
		{"empty", postgres, integer(63, "bigint"), "", nil},
		{"text", postgres, text("default", 0), "a", "a"},
		{"an empty text", postgres, text("default", 0), "", ""},
		{"text of bytes", mysql, text("utf8mb4_bin", 0), []byte("ä"), "ä"},
		{"bytes as text elsewhere", postgres, text("default", 0), []byte("a"), nil},
		{"a number as text", postgres, text("default", 0), int64(7), nil},
		{"a space at the end", postgres, text("default", 0), "a ", nil},
		{"a NUL", postgres, text("default", 0), "a\x00", nil},
		{"no UTF-8", mysql, text("utf8mb4_bin", 0), "\xff", nil},
		{"no ASCII", mysql, text("latin1_bin", 0), "ä", nil},
		{"as long as the column", mysql, text("utf8mb4_bin", 3), "äää", "äää"},
		{"longer than the column", mysql, text("utf8mb4_bin", 3), "aaaa", nil},
		{"long", postgres, text("default", 0), strings.Repeat("a", 251), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kind := policy.ScopeInteger
			if tt.column.Text {
				kind = policy.ScopeText
			}
			got, err := numbering.ScopeValue(tt.dialect, tt.column, kind, tt.value)
			if (err != nil) != (tt.want == nil) || got != tt.want {
				t.Errorf("%v, %v, want %v", got, err, tt.want)
			}
		})
	}
}

func TestScopeColumns(t *testing.T) {
	for _, tt := range []struct {
		dialect string
		column  *catalog.Column
		kind    string
		good    bool
	}{
		{"mysql", &catalog.Column{Type: "bigint(20)", Integer: true}, policy.ScopeInteger, true},
		{"mysql", &catalog.Column{Type: "varchar(9)", Text: true}, policy.ScopeInteger, false},
		{"sqlite", &catalog.Column{Integer: true, Text: true, Binary: true}, policy.ScopeInteger, false},
		{"mysql", nil, policy.ScopeInteger, false},
		{"mysql", &catalog.Column{Type: "varchar(9)", Text: true, Collation: "utf8mb4_bin"}, policy.ScopeText, true},
		{"mysql", &catalog.Column{Type: "varchar(9)", Text: true, Collation: "utf8mb4_nopad_bin"}, policy.ScopeText, true},
		{"mysql", &catalog.Column{Type: "varchar(9)", Text: true, Collation: "utf8mb4_0900_as_cs"}, policy.ScopeText, false},
		{"mysql", &catalog.Column{Type: "varbinary(9)", Binary: true}, policy.ScopeText, false},
		{"postgres", &catalog.Column{Type: "text", Text: true, Collation: "default"}, policy.ScopeText, true},
		{"postgres", &catalog.Column{Type: "character varying(9)", Text: true, Collation: "C"}, policy.ScopeText, true},
		{"postgres", &catalog.Column{Type: "text", Text: true, Collation: "folding"}, policy.ScopeText, false},
		{"postgres", &catalog.Column{Type: "citext", Text: true, Collation: "default"}, policy.ScopeText, false},
		{"postgres", &catalog.Column{Type: "uuid", UUID: true}, policy.ScopeText, false},
		{"sqlite", &catalog.Column{Type: "TEXT", Text: true, Collation: "BINARY"}, policy.ScopeText, true},
		{"sqlite", &catalog.Column{Type: "TEXT", Text: true}, policy.ScopeText, false},
		{"sqlserver", &catalog.Column{Type: "nvarchar(9)", Text: true, Collation: "Latin1_General_100_BIN2"}, policy.ScopeText, true},
		{"sqlserver", &catalog.Column{Type: "nvarchar(9)", Text: true, Collation: "Latin1_General_CS_AS"}, policy.ScopeText, false},
		{"oracle", &catalog.Column{Type: "VARCHAR2", Text: true, Collation: "BINARY"}, policy.ScopeText, true},
		{"oracle", &catalog.Column{Type: "VARCHAR2", Text: true, Collation: "BINARY_CI"}, policy.ScopeText, false},
	} {
		d, err := dialect.ByName(tt.dialect)
		if err != nil {
			t.Fatal(err)
		}
		if err := numbering.CheckScopeColumn(d, tt.column, tt.kind); (err == nil) != tt.good {
			t.Errorf("%s, %+v as %s: %v", tt.dialect, tt.column, tt.kind, err)
		}
	}
}
