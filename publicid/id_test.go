package publicid_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/publicid"
)

// Types of ids: in a column of text, and by layout.
type (
	customer struct{}
	order    struct{}
	bare     struct{}
	inUUID   struct{}
	inBytes  struct{}
	atEnd    struct{}
	unfit    struct{}
)

func (customer) Prefix() string           { return "cus" }
func (order) Prefix() string              { return "ord" }
func (bare) Prefix() string               { return "" }
func (inUUID) Prefix() string             { return "cus" }
func (inUUID) Layout() dialect.Layout     { return dialect.SequentialAsString }
func (inBytes) Prefix() string            { return "cus" }
func (inBytes) Layout() dialect.Layout    { return dialect.SequentialAsBinary }
func (atEnd) Prefix() string              { return "cus" }
func (atEnd) Layout() dialect.Layout      { return dialect.SequentialAtEnd }
func (unfit) Prefix() string              { return "Cus_" }
func sample() uuid.UUID                   { return uuid.MustParse("01890a5d-ac96-774b-bcce-b302099a8057") }
func of[T publicid.Type]() publicid.ID[T] { return publicid.FromUUID[T](sample()) }

const sampleText = "cus_01h455vb4pex5vsknk084sn02q"

// What an ID is for others.
var (
	_ sql.Scanner              = (*publicid.ID[customer])(nil)
	_ driver.Valuer            = publicid.ID[customer]{}
	_ encoding.TextMarshaler   = publicid.ID[customer]{}
	_ encoding.TextAppender    = publicid.ID[customer]{}
	_ encoding.TextUnmarshaler = (*publicid.ID[customer])(nil)
	_ fmt.Stringer             = publicid.ID[customer]{}
)

// TestTypes: ids of two types cannot be converted to one another.
func TestTypes(t *testing.T) {
	from, to := reflect.TypeFor[publicid.ID[customer]](), reflect.TypeFor[publicid.ID[order]]()
	if from.AssignableTo(to) || from.ConvertibleTo(to) {
		t.Errorf("%v can be assigned or converted to %v", from, to)
	}
	if size := from.Size(); size != 16 || !from.Comparable() {
		t.Errorf("an ID has %d bytes, comparable %t, want 16 that are", size, from.Comparable())
	}
	if _, err := publicid.Parse[order](sampleText); !errors.Is(err, publicid.ErrType) || errors.Is(err, publicid.ErrSyntax) || !strings.Contains(err.Error(), "ord_") {
		t.Errorf("a customer's id as an order's: %v, want ErrType", err)
	}
	if _, err := publicid.Parse[bare](sampleText); !errors.Is(err, publicid.ErrType) {
		t.Errorf("a customer's id as one without a prefix: %v, want ErrType", err)
	}
	if _, err := publicid.Parse[customer](sampleText[4:]); !errors.Is(err, publicid.ErrType) {
		t.Errorf("an id without a prefix as a customer's: %v, want ErrType", err)
	}
	if id, err := publicid.Parse[bare](sampleText[4:]); err != nil || id.String() != sampleText[4:] {
		t.Errorf("an id without a prefix is %v, %v", id, err)
	}
}

// TestValueAndScan: what is sent to a column is read from it, by layout.
func TestValueAndScan(t *testing.T) {
	binary := sample()
	t.Run("text", func(t *testing.T) {
		roundTrip[customer](t, sampleText, sampleText, []byte(sampleText), sampleText+"  ")
	})
	t.Run("no prefix", func(t *testing.T) { roundTrip[bare](t, sampleText[4:], sampleText[4:]) })
	t.Run("uuid", func(t *testing.T) {
		roundTrip[inUUID](t, sample().String(), sample().String(), []byte(sample().String()), strings.ToUpper(sample().String()), binary[:])
	})
	t.Run("binary", func(t *testing.T) { roundTrip[inBytes](t, binary[:], binary[:], string(binary[:]), sample().String()) })
	end := dialect.AtEnd(sample())
	bytes := dialect.MixedEndian(end)
	t.Run("at end", func(t *testing.T) {
		roundTrip[atEnd](t, dialect.Text(end), dialect.Text(end), strings.ToUpper(dialect.Text(end)), bytes[:])
	})
}

// roundTrip checks what an id sends, and that it is read from each of some values.
func roundTrip[T publicid.Type](t *testing.T, sent driver.Value, read ...any) {
	t.Helper()
	got, err := of[T]().Value()
	if err != nil || !reflect.DeepEqual(got, sent) {
		t.Errorf("Value() = %v, %v, want %v", got, err, sent)
	}
	if !driver.IsValue(got) {
		t.Errorf("%T is no value of drivers", got)
	}
	for _, value := range read {
		var id publicid.ID[T]
		if err := id.Scan(value); err != nil || id != of[T]() {
			t.Errorf("Scan(%T %v) = %v, %v", value, value, id, err)
		}
		var null sql.Null[publicid.ID[T]]
		if err := null.Scan(value); err != nil || null.V != of[T]() || !null.Valid {
			t.Errorf("sql.Null: Scan(%T %v) = %v, %v", value, value, null, err)
		}
		if err := null.Scan(nil); err != nil || null.Valid {
			t.Errorf("sql.Null: Scan(nil) = %v, %v", null, err)
		}
	}
	zero, err := publicid.ID[T]{}.Value()
	var id publicid.ID[T]
	if scanErr := id.Scan(zero); err != nil || scanErr != nil || !id.IsZero() {
		t.Errorf("the zero ID sends %v and is read as %v, errors %v and %v", zero, id, err, scanErr)
	}
}

// TestScanErrors: what is no id of the type is an error, which leaves the id as it is and
// does not repeat the value.
func TestScanErrors(t *testing.T) {
	scanners := map[string]func() (sql.Scanner, func() bool){
		"text":   scannerOf[customer],
		"uuid":   scannerOf[inUUID],
		"binary": scannerOf[inBytes],
		"at end": scannerOf[atEnd],
	}
	binary, text := sample(), sample().String()
	for _, tt := range []struct {
		to    string
		value any
		want  error
		says  string
	}{
		{"text", nil, publicid.ErrSyntax, "sql.Null"},
		{"text", int64(7), publicid.ErrSyntax, "int64"},
		{"text", "", publicid.ErrSyntax, "26 characters"},
		{"text", text, publicid.ErrSyntax, "method Layout"},
		{"text", binary[:], publicid.ErrSyntax, "method Layout"},
		{"text", "ord_01h455vb4pex5vsknk084sn02q", publicid.ErrType, "cus_"},
		{"text", "abcdefghi_01h455vb4pex5vsknk084sn02q", publicid.ErrType, "cus_"},
		{"text", "abcdefghi_01h455vb4pex5vsknk084sn02", publicid.ErrSyntax, "26 characters"},
		{"uuid", nil, publicid.ErrSyntax, "sql.Null"},
		{"uuid", sampleText, publicid.ErrSyntax, "publicid_test.inUUID"},
		{"uuid", strings.Replace(text, "-", "x", 1), publicid.ErrSyntax, "no UUID"},
		{"binary", sampleText, publicid.ErrSyntax, "no UUID"},
		{"binary", binary[:15], publicid.ErrSyntax, "publicid_test.inBytes"},
		{"at end", sampleText, publicid.ErrSyntax, "no UUID"},
		{"at end", []byte{}, publicid.ErrSyntax, "no UUID"},
	} {
		id, isUnchanged := scanners[tt.to]()
		err := id.Scan(tt.value)
		if !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.says) || !isUnchanged() {
			t.Errorf("%s: Scan(%v): %v, want %v that says %q, unchanged %t", tt.to, tt.value, err, tt.want, tt.says, isUnchanged())
		}
		if s, ok := tt.value.(string); err != nil && ok && s != "" && strings.Contains(err.Error(), s) {
			t.Errorf("%s: the error repeats the value: %v", tt.to, err)
		}
	}
}

func scannerOf[T publicid.Type]() (sql.Scanner, func() bool) {
	id := of[T]()
	return &id, func() bool { return id == of[T]() }
}

// TestPrefixUnfit: a type with a prefix that no TypeID can have is an error of each method
// that has one, and never a panic.
func TestPrefixUnfit(t *testing.T) {
	id := of[unfit]()
	_, marshalled := id.MarshalText()
	_, value := id.Value()
	_, asJSON := json.Marshal(id)
	_, parsed := publicid.Parse[unfit](sampleText)
	for name, err := range map[string]error{"MarshalText": marshalled, "Value": value, "JSON": asJSON, "Parse": parsed} {
		if !errors.Is(err, publicid.ErrPrefix) || !strings.Contains(err.Error(), "publicid_test.unfit") {
			t.Errorf("%s: %v, want ErrPrefix", name, err)
		}
	}
	if got := id.String(); !strings.HasSuffix(got, "_01h455vb4pex5vsknk084sn02q") {
		t.Errorf("String() = %q", got)
	}
}

// TestJSON: an id is its text in JSON, as a value, as a key of an object, and in a struct.
func TestJSON(t *testing.T) {
	type row struct {
		ID     publicid.ID[customer]         `json:"id"`
		Parent *publicid.ID[customer]        `json:"parent"`
		Other  publicid.ID[order]            `json:"other,omitzero"`
		Counts map[publicid.ID[customer]]int `json:"counts"`
	}
	in := row{ID: of[customer](), Counts: map[publicid.ID[customer]]int{of[customer](): 2}}
	const want = `{"id":"` + sampleText + `","parent":null,"counts":{"` + sampleText + `":2}}`
	got, err := json.Marshal(in)
	if err != nil || string(got) != want {
		t.Errorf("Marshal = %s, %v, want %s", got, err, want)
	}
	var out row
	if err := json.Unmarshal(got, &out); err != nil || !reflect.DeepEqual(in, out) {
		t.Errorf("Unmarshal = %+v, %v, want %+v", out, err, in)
	}
	for _, text := range []string{`{"id":""}`, `{"id":"ord_01h455vb4pex5vsknk084sn02q"}`, `{"id":"CUS_01h455vb4pex5vsknk084sn02q"}`, `{"id":7}`} {
		kept := row{ID: of[customer]()}
		if err := json.Unmarshal([]byte(text), &kept); err == nil || kept.ID != in.ID {
			t.Errorf("Unmarshal(%s) = %+v, %v, want an error", text, kept, err)
		}
	}
}

// TestBounds: in the order of texts, the keys of a time range lie between its bounds, and no
// others.
func TestBounds(t *testing.T) {
	at := time.UnixMilli(0x01890a5dac96)
	low, high, err := publicid.Bounds[customer](at, at.Add(time.Millisecond))
	id := of[customer]().String()
	if err != nil || low.String() > id || id >= high.String() {
		t.Errorf("Bounds = %v, %v, %v: %v is not between them", low, high, err, id)
	}
	if low, high, err := publicid.Bounds[customer](at, at.Add(-1)); err == nil || !low.IsZero() || !high.IsZero() {
		t.Errorf("Bounds of a range that ends before it begins = %v, %v, %v", low, high, err)
	}
}

// node is a row whose struct names the type of its own ids.
type node struct {
	ID     publicid.ID[node]
	Parent sql.Null[publicid.ID[node]]
}

func (node) Prefix() string { return "node" }

// TestModelAsType: the struct of a row can be the type of its ids.
func TestModelAsType(t *testing.T) {
	id, err := publicid.Parse[node]("node_01h455vb4pex5vsknk084sn02q")
	n := node{ID: id}
	if err != nil || n.ID.UUID() != sample() {
		t.Errorf("Parse = %v, %v", n.ID, err)
	}
}

// TestAllocations: no function allocates more than its result.
func TestAllocations(t *testing.T) {
	mask, number := newMask(t, "", secret()), newNumber(t, "", secret())
	masked, text := hide(t, mask, sample()), textOf(t, number, 7)
	id := of[customer]()
	var asUUID publicid.ID[inUUID]
	room := make([]byte, 0, 100)
	for name, tt := range map[string]struct {
		want float64
		run  func() error
	}{
		"Mask.Hide":         {0, func() error { _, err := mask.Hide(sample()); return err }},
		"Mask.Reveal":       {0, func() error { _, err := mask.Reveal(masked); return err }},
		"Mask.Candidates":   {1, func() error { _, err := mask.Candidates(masked); return err }},
		"Number.Hide":       {1, func() error { _, err := number.Hide(7); return err }},
		"Number.Reveal":     {0, func() error { _, err := number.Reveal(text); return err }},
		"Number.Candidates": {1, func() error { _, err := number.Candidates(text); return err }},
		"Parse":             {0, func() error { _, err := publicid.Parse[customer](sampleText); return err }},
		"String":            {1, func() error { _ = id.String(); return nil }},
		"AppendText":        {0, func() error { _, err := id.AppendText(room); return err }},
		"Scan of text":      {0, func() error { return asUUID.Scan("01890a5d-ac96-774b-bcce-b302099a8057") }},
	} {
		got := testing.AllocsPerRun(100, func() {
			if err := tt.run(); err != nil {
				t.Fatal(err)
			}
		})
		if got > tt.want {
			t.Errorf("%s makes %v allocations, want %v", name, got, tt.want)
		}
	}
}

// The prefixes of the specification's vectors.
type (
	prefix   struct{}
	preUnder struct{}
)

func (prefix) Prefix() string   { return "prefix" }
func (preUnder) Prefix() string { return "pre_fix" }

// TestSpecification: the vectors of the TypeID specification, through types.
func TestSpecification(t *testing.T) {
	var valid, invalid []struct {
		Name, TypeID, Prefix string
		UUID                 uuid.UUID
	}
	for name, into := range map[string]any{"valid": &valid, "invalid": &invalid} {
		file, err := os.ReadFile("../internal/typeid/testdata/" + name + ".json")
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(file, into); err != nil {
			t.Fatal(err)
		}
	}
	ways := map[string]func(t *testing.T, text string, u uuid.UUID) error{
		"": parsed[bare], "prefix": parsed[prefix], "pre_fix": parsed[preUnder],
	}
	for _, v := range valid {
		for name, way := range ways {
			if err := way(t, v.TypeID, v.UUID); name == v.Prefix && err != nil || name != v.Prefix && !errors.Is(err, publicid.ErrType) {
				t.Errorf("%s as an id with the prefix %q: %v", v.Name, name, err)
			}
		}
	}
	for _, v := range invalid {
		for name, way := range ways {
			if err := way(t, v.TypeID, uuid.Nil); !errors.Is(err, publicid.ErrSyntax) || !strings.HasSuffix(err.Error(), "[docs/errors.md#public-id]") {
				t.Errorf("%s as an id with the prefix %q: %v, want ErrSyntax", v.Name, name, err)
			}
		}
	}
	if len(valid) != 9 || len(invalid) != 21 {
		t.Errorf("%d valid and %d invalid vectors", len(valid), len(invalid))
	}
}

// parsed reads a text as an id, whose UUID and text are compared.
func parsed[T publicid.Type](t *testing.T, text string, u uuid.UUID) error {
	t.Helper()
	id, err := publicid.Parse[T](text)
	if err == nil && (id.UUID() != u || id.String() != text || id != publicid.FromUUID[T](u)) {
		t.Errorf("Parse(%q) = %v", text, id)
	}
	return err
}
