package keysource_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// TestInspectArticle reads the eight GUIDs that the article on combs prints.
func TestInspectArticle(t *testing.T) {
	for _, tt := range []struct {
		text   string
		layout dialect.Layout
		want   time.Duration // after 00:11
		random string
	}{
		{"39babcb4-e446-4ed5-4012-2e27653a9d13", str, 11814 * time.Millisecond, "4ed540122e27653a9d13"},
		{"39babcb4-e447-ae68-4a32-19eb8d91765d", str, 11815 * time.Millisecond, "ae684a3219eb8d91765d"},
		{"39babcb4-e44a-6c41-0fb4-21edd4697f43", str, 11818 * time.Millisecond, "6c410fb421edd4697f43"},
		{"39babcb4-e44d-51d2-c4b0-7d8489691c70", str, 11821 * time.Millisecond, "51d2c4b07d8489691c70"},
		// The text that .NET shows for the bytes. The article prints the third group of
		// the bytes as the text's; they are the other way round.
		{"b4bcba39-58eb-47ce-8890-71e7867d67a5", bin, 13624 * time.Millisecond, "ce47889071e7867d67a5"},
		{"b4bcba39-5aeb-42a0-0b11-db83dd3c635b", bin, 13626 * time.Millisecond, "a0420b11db83dd3c635b"},
		{"b4bcba39-6aeb-4129-a9a5-a500aac0c5cd", bin, 13642 * time.Millisecond, "2941a9a5a500aac0c5cd"},
		{"b4bcba39-6ceb-494d-a978-c29cef95d37f", bin, 13644 * time.Millisecond, "4d49a978c29cef95d37f"},
	} {
		t.Run(tt.text, func(t *testing.T) {
			readings, err := keysource.Inspect(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			want := keysource.Reading{
				Kind:   "comb",
				Layout: tt.layout,
				Epoch:  keysource.EpochDotNet,
				Time:   time.Date(2012, 6, 2, 0, 11, 0, 0, time.UTC).Add(tt.want),
				Random: tt.random,
			}
			if !slices.Contains(readings, want) {
				t.Errorf("Inspect = %+v, want %+v among them", readings, want)
			}
		})
	}
}

func TestInspect(t *testing.T) {
	const (
		v7Random   = "ed500122e27653a9d13"
		combRandom = "4ed540122e27653a9d13"
	)
	comb := func(l dialect.Layout, e keysource.Epoch) keysource.Reading {
		return keysource.Reading{Kind: "comb", Layout: l, Epoch: e, Time: instant, Random: combRandom}
	}
	v7 := func(l dialect.Layout) keysource.Reading {
		return keysource.Reading{Kind: "uuidv7", Layout: l, Time: instant, Random: v7Random}
	}
	ulid := keysource.Reading{
		Kind: "ulid", Layout: str, Random: "d6764c61efb99302bd5b",
		Time: time.Date(2016, 7, 30, 23, 54, 10, 259_000_000, time.UTC),
	}
	ulidBinary := ulid
	ulidBinary.Layout = bin
	v4 := keysource.Reading{Kind: "uuidv4", Layout: str, Random: "919108f752d13201bacf847db4148a8"}
	integer := keysource.Reading{Kind: "integer"}

	for _, tt := range []struct {
		name string
		text string
		want []keysource.Reading
	}{
		{"uuidv7", "0137aa88-0c46-7ed5-8012-2e27653a9d13", []keysource.Reading{v7(str)}},
		{"uuidv7 in upper case", "0137AA88-0C46-7ED5-8012-2E27653A9D13", []keysource.Reading{v7(str)}},
		{"uuidv7 in braces", "{0137aa88-0c46-7ed5-8012-2e27653a9d13}", []keysource.Reading{v7(str)}},
		{"uuidv7 as URN", "urn:uuid:0137aa88-0c46-7ed5-8012-2e27653a9d13", []keysource.Reading{v7(str)}},
		{"uuidv7 in white space", " 0137aa88-0c46-7ed5-8012-2e27653a9d13\r\n", []keysource.Reading{v7(str)}},
		{"uuidv7 as digits", "0137aa880c467ed580122e27653a9d13", []keysource.Reading{v7(bin)}},
		{"uuidv7 as 0x", "0x0137AA880C467ED580122E27653A9D13", []keysource.Reading{v7(bin)}},
		{"uuidv7 as bytea", `\x0137aa880c467ed580122e27653a9d13`, []keysource.Reading{v7(bin)}},
		{"uuidv7 as X''", "X'0137aa880c467ed580122e27653a9d13'", []keysource.Reading{v7(bin)}},
		{"uuidv7 at end", "139d3a65-272e-1280-7ed5-0137aa880c46", []keysource.Reading{v7(atEnd)}},
		{"uuidv7 at end, stored", "0x653a9d132e2780127ed50137aa880c46", []keysource.Reading{v7(atEnd)}},
		{"uuidv7 binary, shown by .NET", "88aa3701-460c-d57e-8012-2e27653a9d13", []keysource.Reading{v7(bin)}},
		{"RFC 9562 uuidv7", "017F22E2-79B0-7CC3-98C4-DC0C0C07398F", []keysource.Reading{{
			Kind: "uuidv7", Layout: str, Random: "cc318c4dc0c0c07398f",
			Time: time.Date(2022, 2, 22, 19, 22, 22, 0, time.UTC),
		}}},
		{"uuidv7 of the year 10889", "ffffffff-ffff-7fff-bfff-ffffffffffff", []keysource.Reading{{
			Kind: "uuidv7", Layout: str, Random: "fff3fffffffffffffff",
			Time: time.UnixMilli(1<<48 - 1).UTC(),
		}}},
		{"RFC 9562 uuidv4", "919108f7-52d1-4320-9bac-f847db4148a8", []keysource.Reading{v4}},
		{"RFC 9562 uuidv5", "2ed6657d-e927-568b-95e1-2665a8aea6a2", []keysource.Reading{{
			Kind: "uuidv5", Layout: str, Random: "2ed6657de92768b15e12665a8aea6a2",
		}}},
		{"uuidv4 that may be a uuidv7 shown by .NET", "88aa3701-460c-457e-8012-2e27653a9d13", []keysource.Reading{
			{Kind: "uuidv4", Layout: str, Random: "88aa3701460c57e00122e27653a9d13"},
			{Kind: "uuidv7", Layout: bin, Time: instant, Random: "e4500122e27653a9d13"},
		}},
		{"nil UUID", "00000000-0000-0000-0000-000000000000", []keysource.Reading{{Kind: "uuid"}}},
		{"comb string", "39babcb4-e446-4ed5-4012-2e27653a9d13",
			[]keysource.Reading{comb(str, keysource.EpochDotNet)}},
		{"comb binary", "39babcb4e4464ed540122e27653a9d13",
			[]keysource.Reading{comb(bin, keysource.EpochDotNet)}},
		{"comb binary, shown by .NET", "b4bcba39-46e4-d54e-4012-2e27653a9d13",
			[]keysource.Reading{comb(bin, keysource.EpochDotNet)}},
		{"comb at end", "1240d54e-272e-3a65-9d13-39babcb4e446", []keysource.Reading{
			comb(atEnd, keysource.EpochDotNet),
			{Kind: "uuidv3", Layout: str, Random: "1240d54e272ea651d1339babcb4e446"},
		}},
		{"comb at end, stored", "0x4ed540122e27653a9d1339babcb4e446", []keysource.Reading{
			comb(atEnd, keysource.EpochDotNet),
			{Kind: "uuidv6", Layout: bin, Random: "4ed540122e2753a1d1339babcb4e446"},
			{Kind: "uuidv4", Layout: dialect.Swapped, Random: "2e27653a4012ed51d1339babcb4e446"},
		}},
		{"comb unix string", "0137aa88-0c46-4ed5-4012-2e27653a9d13",
			[]keysource.Reading{comb(str, keysource.EpochUnix)}},
		{"comb unix at end", "1240d54e-272e-fa65-9d13-0137aa880c46", []keysource.Reading{{
			Kind: "comb", Layout: atEnd, Epoch: keysource.EpochUnix, Time: instant, Random: "4ed540122e2765fa9d13",
		}}},
		{"comb that has the marks of a uuidv4", "39babcb4-e446-4ed5-8012-2e27653a9d13", []keysource.Reading{
			{Kind: "uuidv4", Layout: str, Random: "39babcb4e446ed500122e27653a9d13"},
			{Kind: "comb", Layout: str, Epoch: keysource.EpochDotNet, Time: instant, Random: "4ed580122e27653a9d13"},
		}},
		{"comb that has the marks of a uuidv7", "39babcb4-e446-7ed5-8012-2e27653a9d13", []keysource.Reading{
			{Kind: "comb", Layout: str, Epoch: keysource.EpochDotNet, Time: instant, Random: "7ed580122e27653a9d13"},
			{Kind: "uuidv7", Layout: str, Random: v7Random, Time: time.UnixMilli(0x39babcb4e446).UTC()},
		}},
		{"ulid", "01ARZ3NDEKTSV4RRFFQ69G5FAV", []keysource.Reading{ulid}},
		{"ulid in lower case", "01arz3ndektsv4rrffq69g5fav", []keysource.Reading{ulid}},
		{"ulid with letters for digits", "olARZ3NDEKTSV4RRFFQ69G5FAV", []keysource.Reading{ulid}},
		{"ulid binary", "0x01563e3ab5d3d6764c61efb99302bd5b", []keysource.Reading{
			ulidBinary,
			{Kind: "comb", Layout: bin, Epoch: keysource.EpochUnix, Time: ulid.Time, Random: ulid.Random},
		}},
		{"largest ulid", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", []keysource.Reading{{
			Kind: "ulid", Layout: str, Random: "ffffffffffffffffffff", Time: time.UnixMilli(1<<48 - 1).UTC(),
		}}},
		{"typeid", "cus_01h455vb4pex5vsknk084sn02q", []keysource.Reading{{
			Kind: "uuidv7", Layout: str, Prefix: "cus", UUID: "01890a5d-ac96-774b-bcce-b302099a8057",
			Time: time.UnixMilli(0x01890a5dac96).UTC(), Random: "74b3cceb302099a8057",
		}}},
		{"typeid of a masked id", "order_line_4hj44femph8cg9qb7r8zdm2j58", []keysource.Reading{{
			Kind: "uuidv4", Layout: str, Prefix: "order_line", UUID: "919108f7-52d1-4320-9bac-f847db4148a8", Random: "919108f752d13201bacf847db4148a8",
		}}},
		{"typeid of no version", "cus_00000000000000000000000000", []keysource.Reading{{
			Kind: "uuid", Prefix: "cus", UUID: "00000000-0000-0000-0000-000000000000",
		}}},
		{"integer", "42045358", []keysource.Reading{integer}},
		{"negative integer", "-1", []keysource.Reading{integer}},
		{"largest integer", "9223372036854775807", []keysource.Reading{integer}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := keysource.Inspect(tt.text)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("Inspect(%q)\n got %+v\nwant %+v", tt.text, got, tt.want)
			}
		})
	}
}

func TestInspectNotKey(t *testing.T) {
	for _, text := range []string{
		"", " ", "x", "0x", "0x0", "3.5", "9223372036854775808",
		"0137aa88-0c46-7ed5-8012-2e27653a9d1",    // 35 characters
		"0137aa88-0c46-7ed5-8012-2e27653a9d13ff", // 38 without braces
		"0137aa88-0c46-7ed5-8012-2e27653a9d1g",   // no digit
		"0137aa880-c46-7ed5-8012-2e27653a9d13",   // a dash out of place
		"X'0137aa880c467ed580122e27653a9d13",     // no closing quote
		"0137aa880c467ed580122e27653a9d13'",      // no opening quote
		"0x0137aa88-0c46-7ed5-8012-2e27653a9d13", // both forms
		"80000000000000000000000000",             // a ULID of 129 bits
		"01ARZ3NDEKTSV4RRFFQ69G5FAU",             // U is not in the alphabet
		"01ARZ3NDEKTSV4RRFFQ69G5FA\u00e9",        // 27 bytes
		"01ARZ3NDEKTSV4RRFFQ69G5F\u00e9",         // 26 bytes
		strings.Repeat("9", 1<<16),
	} {
		t.Run(fmt.Sprintf("%.40q", text), func(t *testing.T) {
			readings, err := keysource.Inspect(text)
			if readings != nil || err != keysource.ErrNotKey {
				t.Errorf("Inspect = %+v, %v, want ErrNotKey", readings, err)
			}
		})
	}
}

// TestInspectReadsWhatIsMade: each key that a source makes is read as one of its
// kind, layout, epoch and time; a UUID with marks is so at first.
func TestInspectReadsWhatIsMade(t *testing.T) {
	made := time.Date(2031, 12, 31, 23, 59, 59, 999_000_000, time.UTC)
	for _, l := range laws {
		kind, epoch, _ := strings.Cut(l.name, " ")
		if l.name == "typeid" {
			kind = "uuidv7"
		}
		for _, layout := range l.layouts {
			t.Run(l.name+"/"+string(layout), func(t *testing.T) {
				s := l.make(keysource.Env{Now: frozen(made), Rand: newStream()})
				for _, key := range next(t, s, layout, 1000) {
					readings, err := keysource.Inspect(text(t, key))
					if err != nil {
						t.Fatal(err)
					}
					i := slices.IndexFunc(readings, func(r keysource.Reading) bool {
						if kind == "uuidv4" { // without a time, and plain text at the end
							return r.Kind == kind
						}
						return r.Kind == kind && r.Layout == layout && r.Time.Equal(made) &&
							r.Epoch == keysource.Epoch(epoch)
					})
					marks := readings[0].Kind == "uuidv7" && readings[0].Time.Equal(made)
					switch {
					case i == 0, i > 0 && kind != "uuidv7" && kind != "uuidv4":
					case i < 0 && marks && (kind == "ulid" || l.name == "comb unix"):
					default:
						t.Fatalf("%s is read as %+v", text(t, key), readings)
					}
				}
			})
		}
	}
}

// TestInspectComposite reads the three keys that the article on four approaches
// prints, which have all their digits by luck, and others.
func TestInspectComposite(t *testing.T) {
	at := func(year int, month time.Month, day, hour, min, sec, ms int) time.Time {
		return time.Date(year, month, day, hour, min, sec, ms*1e6, time.UTC)
	}
	composite := func(length int, spread, counter int64, made time.Time) keysource.Reading {
		return keysource.Reading{Kind: "composite", Layout: str, Time: made, Length: length, Worker: spread, Sequence: counter}
	}
	integer := keysource.Reading{Kind: "integer"}
	for _, tt := range []struct {
		text string
		want []keysource.Reading
	}{
		{"12519940411145439533", []keysource.Reading{composite(20, 125, 0, at(1994, 4, 11, 14, 54, 39, 533))}},
		{"12519940411145440666", []keysource.Reading{composite(20, 125, 0, at(1994, 4, 11, 14, 54, 40, 666))}},
		{" 12519940411145442466\n", []keysource.Reading{composite(20, 125, 0, at(1994, 4, 11, 14, 54, 42, 466))}},
		{"00020260102030405006", []keysource.Reading{composite(20, 0, 0, at(2026, 1, 2, 3, 4, 5, 6)), integer}},
		{"999202402292359599994095", []keysource.Reading{composite(24, 999, 4095, at(2024, 2, 29, 23, 59, 59, 999))}},
		{"00000000000000000042", []keysource.Reading{integer}},
	} {
		if got, err := keysource.Inspect(tt.text); err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("Inspect(%q)\n got %+v, %v\nwant %+v", tt.text, got, err, tt.want)
		}
	}
	for _, text := range []string{
		"12520260230120000123", "12519891231235959999", "12522000101000000000", "99999999999999999999",
		"125202606021200001230", "1252026060212000012300", "999999999999999999999999",
	} {
		if got, err := keysource.Inspect(text); got != nil || !errors.Is(err, keysource.ErrNotKey) {
			t.Errorf("Inspect(%q) = %+v, %v", text, got, err)
		}
	}
}

// TestInspectAs: with the parameters the number of a key is found, and nothing
// else.
func TestInspectAs(t *testing.T) {
	scatter, err := keysource.NewScatter(53, "orders")
	if err != nil {
		t.Fatal(err)
	}
	for name, m := range map[string]keysource.Mapping{
		"pseudorandom": keysource.NewPseudorandom(), "scatter": scatter,
		"coprime":          newCoprime(t, keysource.CoprimeOptions{Length: 6}),
		"coprime article":  newCoprime(t, keysource.CoprimeOptions{Length: 6, Alphabet: keysource.AlphabetBase62, K: articleK}),
		"coprime grow":     newCoprime(t, keysource.CoprimeOptions{Length: 3, Alphabet: keysource.AlphabetBase62, Grow: true, Start: 99}),
		"coprime residues": newCoprime(t, keysource.CoprimeOptions{Length: 5, Alphabet: keysource.AlphabetBase62, Residues: true}),
	} {
		kind, _, _ := strings.Cut(name, " ")
		for _, number := range []int64{1, 2, 1000, m.Last()} {
			key := fmt.Sprint(m.Key(number, ""))
			got, err := keysource.InspectAs(" "+key+"\n", m)
			if want := (keysource.Reading{Kind: kind, Number: number}); err != nil || got != want {
				t.Errorf("%s: InspectAs(%q) = %+v, %v, want %+v", name, key, got, err, want)
			}
			for _, text := range []string{"", "0", "-1", "abc!", "99999999999999999999", key + "0000000000"} {
				if got, err := keysource.InspectAs(text, m); got != (keysource.Reading{}) || !errors.Is(err, keysource.ErrOtherKey) {
					t.Errorf("%s: InspectAs(%q) = %+v, %v", name, text, got, err)
				}
			}
		}
	}
	c, err := keysource.NewComposite(24)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := keysource.InspectAs("125202606021200001230042", c); err != nil || got.Kind != "composite" || got.Worker != 125 || got.Sequence != 42 {
		t.Errorf("composite: %+v, %v", got, err)
	}
	if _, err := keysource.InspectAs("12520260602120000123", c); !errors.Is(err, keysource.ErrOtherKey) {
		t.Errorf("composite of another length: %v", err)
	}
	if _, err := keysource.InspectAs("1", nil); !errors.Is(err, keysource.ErrOtherKey) {
		t.Errorf("no mapping: %v", err)
	}
}

func FuzzInspect(f *testing.F) {
	for _, l := range laws {
		for _, layout := range l.layouts {
			s := l.make(keysource.Env{Now: frozen(instant), Rand: newStream()})
			f.Add(text(f, next(f, s, layout, 1)[0]))
		}
	}
	for _, text := range []string{
		"", "0x", "x'", "X'0137aa880c467ed580122e27653a9d13'", `\x00`, "42", "-9223372036854775808",
		"{0137aa88-0c46-7ed5-8012-2e27653a9d13}", "urn:uuid:0137aa88-0c46-7ed5-8012-2e27653a9d13",
		"12520260602120000123", "125202606021200001230042", "00020260102030405006",
		"00000000-0000-0000-0000-000000000000", "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "\xff\xfe",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		readings, err := keysource.Inspect(text)
		if err != nil {
			if readings != nil || !errors.Is(err, keysource.ErrNotKey) {
				t.Fatalf("Inspect(%q) = %+v, %v", text, readings, err)
			}
			return
		}
		if len(readings) == 0 {
			t.Fatalf("Inspect(%q) has no reading", text)
		}
		for _, r := range readings {
			if r.Kind == "" {
				t.Errorf("Inspect(%q): %+v has no kind", text, r)
			}
			if r.Time != r.Time.Truncate(time.Millisecond).UTC() {
				t.Errorf("Inspect(%q): %v is not UTC in whole milliseconds", text, r.Time)
			}
		}
	})
}
