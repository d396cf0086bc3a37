package keysource

import (
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/internal/typeid"
)

// Reading is one interpretation of a key.
type Reading struct {
	// Kind is the kind of source as the policy file spells it: "uuidv7",
	// "uuidv4", "ulid", "comb", "snowflake" or "composite". It is "uuidv1" and so
	// on for the other versions of RFC 9562, "uuid" for 16 bytes in no known format,
	// and "integer" for any integer. [InspectAs] returns "coprime", "pseudorandom" and
	// "scatter".
	Kind string
	// Layout is the byte order and form of the key if it is of Kind; empty for an
	// integer and for a bare "uuid".
	Layout dialect.Layout
	// Epoch is the epoch of a comb; empty for other kinds.
	Epoch Epoch
	// Time is the time in the key: UTC, whole milliseconds. It is the zero Time if a
	// key of Kind holds no time.
	Time time.Time
	// Random holds the bits that are neither time nor version nor variant, as
	// lower-case hexadecimal digits: 19 for a uuidv7 (rand_a, which UUIDv7
	// here uses for 1/4096 ms, and the 62 bits of rand_b), 20 for a ulid and a
	// comb, 31 for the other UUIDs, in the order of the key's own bytes. It is
	// empty for an integer and for a bare "uuid".
	Random string

	// For a snowflake: Width is how many bits its keys have, 63 for the zero
	// [SnowflakeBits] and 53 for [SnowflakeBits53]; Worker is the worker's number;
	// Sequence is the number of the key within its unit of time.
	Width            int
	Worker, Sequence int64

	// For a composite key: Length is how many characters it has, 20 or 24. Its Worker
	// is the spread, and its Sequence the counter, 0 if it has none.
	Length int

	// For a TypeID: Prefix is what stands before its last underscore, and UUID the text of
	// its UUID, as a column of type uuid holds it.
	Prefix, UUID string

	// For a key of a [Mapping]: Number is the number that was mapped to it, from 1 on.
	// It equals the count of keys that were reserved up to it, and does not say when or
	// by which process.
	Number int64
}

// Inspect returns what text can be read as, the most certain reading first, or
// [ErrNotKey] if there is none. It ignores white space around text. It reads, in upper
// or lower case,
//
//	xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx    a UUID's text; also {…} and urn:uuid:…
//	32 hexadecimal digits                   16 bytes as stored; also 0x…, \x… and X'…'
//	26 characters                           a ULID's text
//	prefix_26 characters                    a TypeID, in lower case alone
//	20 or 24 digits                         a composite key
//	an integer of 64 bits                   decimal
//
// A reading as UUIDv7 is the most certain, if version and variant fit and the time is
// between 1990 and 2200; a swapped one comes after a uuidv4. Then come a fitting version and variant of a uuidv4; then
// combs and ULIDs of 16 bytes, which are recognized by a time in that span alone, so
// that each such reading also fits two of a hundred random keys; then other versions. A
// comb or ULID that happens to have the version and variant of a UUIDv7, one in 64, is
// read as a UUIDv7 alone, with the same time. Bytes are read as a swapped uuidv4 last, since
// one in 16 random keys looks like one. A UUID's text in the layout "binary" is
// the text that .NET shows for the bytes, with the first three groups reversed. An
// integer is read as a snowflake first, if its time would be in the years 2024 to 2079.
// Keys of 20 or 24 digits are composite if they hold a valid time between 1990 and
// 2200.
//
// The keys of a [Mapping] cannot be recognized: an integer may be a key of a [Scatter],
// and for a key of a [Coprime] the error is [ErrNotKey]. [InspectAs] reads them with
// the mapping's parameters.
func Inspect(text string) ([]Reading, error) {
	text = strings.TrimSpace(text)
	if b, ok := parseHex(text); ok {
		return inspectViews([]view{
			{dialect.SequentialAsBinary, b},
			{dialect.SequentialAtEnd, dialect.FromAtEnd(dialect.MixedEndian(b))},
			{dialect.Swapped, dialect.Unswap(b)},
		}, true), nil
	}
	if uuid.Validate(text) == nil {
		if u, err := uuid.Parse(text); err == nil {
			return inspectViews([]view{
				{dialect.SequentialAsString, u},
				{dialect.SequentialAtEnd, dialect.FromAtEnd(u)},
				{dialect.SequentialAsBinary, dialect.MixedEndian(u)},
			}, false), nil
		}
	}
	if key, ok := parseULID(text); ok {
		return []Reading{readULID(view{dialect.SequentialAsString, key})}, nil
	}
	if prefix, key, err := typeid.Parse(text); err == nil {
		return []Reading{readTypeID(prefix, key)}, nil
	}
	readings := inspectComposite(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		readings = append(readings, inspectSnowflake(n)...)
		return append(readings, Reading{Kind: "integer"}), nil
	}
	if readings == nil {
		return nil, ErrNotKey
	}
	return readings, nil
}

// InspectAs reads text as a key of a mapping, or returns an error that wraps
// [ErrOtherKey]. It ignores white space around text. The mapping need not have made the
// key: other mappings can make the same key of another number.
func InspectAs(text string, m Mapping) (Reading, error) {
	text = strings.TrimSpace(text)
	switch m := m.(type) {
	case *Coprime:
		n, err := m.Number(text)
		return readingOf("coprime", n, err)
	case *Pseudorandom:
		return inspectInteger("pseudorandom", text, m.Number)
	case *Scatter:
		return inspectInteger("scatter", text, m.Number)
	case *Composite:
		if _, err := m.Number(text); err != nil {
			return Reading{}, err
		}
		return inspectComposite(text)[0], nil
	}
	return Reading{}, anchor.Endf("%w: it is of no known kind", ErrOtherKey)
}

// InspectSnowflake reads text as a key of a snowflake with these bits, which
// [SnowflakeBits.Check] must accept. The zero SnowflakeBits means the default bits. Its
// error wraps [ErrOtherKey] if text is no such key.
func InspectSnowflake(text string, bits SnowflakeBits) (Reading, error) {
	key, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return Reading{}, anchor.Endf("%w: it is no integer", ErrOtherKey)
	}
	f, width := bits.format(), bits.Width()
	if key < 0 || key>>width > 0 {
		return Reading{}, anchor.Endf("%w: it has more bits than the source's keys: take a key of the source", ErrOtherKey)
	}
	tick, worker, sequence := f.Split(key)
	return Reading{Kind: "snowflake", Time: f.TimeOf(tick), Width: width, Worker: worker, Sequence: sequence}, nil
}

func inspectInteger(kind, text string, number func(int64) (int64, error)) (Reading, error) {
	key, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return Reading{}, anchor.Endf("%w: it is no integer", ErrOtherKey)
	}
	n, err := number(key)
	return readingOf(kind, n, err)
}

func readingOf(kind string, number int64, err error) (Reading, error) {
	if err != nil {
		return Reading{}, err
	}
	return Reading{Kind: kind, Number: number}, nil
}

// inspectComposite returns the reading of text as a composite key, or nil.
func inspectComposite(text string) []Reading {
	parts, ok := parseComposite(text)
	if !ok || !plausible(parts.time) {
		return nil
	}
	return []Reading{{
		Kind: "composite", Layout: dialect.SequentialAsString, Time: parts.time,
		Length: len(text), Worker: parts.spread, Sequence: parts.counter,
	}}
}

// view is a key under the assumption that it is in the layout: its bytes in the order
// in which the layout's index compares them; of a swapped UUID, in RFC order.
type view struct {
	layout dialect.Layout
	key    [16]byte
}

// inspectViews returns the readings of a key of 16 bytes. The bytes of the first view
// are in the order of the text. ulids reports whether the key can be a ULID in binary.
func inspectViews(views []view, ulids bool) []Reading {
	var marked, shown, timed, odd, swapped []Reading
	for i, v := range views {
		if version(v.key) == 7 {
			r := readUUIDv7(v)
			switch {
			case plausible(r.Time) && i > 0 && (v.layout == dialect.SequentialAsBinary || v.layout == dialect.Swapped):
				shown = append(shown, r) // as text of .NET, or as a table of UUID_TO_BIN(uuid, 1): rarer than a uuidv4
				continue
			case plausible(r.Time):
				marked = append(marked, r)
				continue // a comb or ULID would have these bits only by chance
			case i == 0:
				odd = append(odd, r)
			}
		}
		if v.layout == dialect.Swapped {
			if n := version(v.key); n == 4 {
				swapped = append(swapped, readUUID(v, n))
			}
			continue
		}
		if r := readComb(v, EpochDotNet); plausible(r.Time) {
			timed = append(timed, r)
		}
		if r := readULID(v); ulids && i == 0 && plausible(r.Time) {
			timed = append(timed, r)
		}
		if r := readComb(v, EpochUnix); plausible(r.Time) {
			timed = append(timed, r)
		}
	}
	switch n := version(views[0].key); n {
	case 4:
		marked = append(marked, readUUID(views[0], n))
	case 1, 2, 3, 5, 6, 8:
		odd = append(odd, readUUID(views[0], n))
	}
	if all := slices.Concat(marked, shown, timed, odd, swapped); len(all) > 0 {
		return all
	}
	return []Reading{{Kind: "uuid"}}
}

// version returns the version of a UUID of the variant of RFC 9562, or 0 for other
// keys.
func version(key [16]byte) int {
	if key[8]>>6 != 0b10 {
		return 0
	}
	return int(key[6] >> 4)
}

// plausible reports whether a key is likely to have been made at t.
func plausible(t time.Time) bool {
	return 1990 <= t.Year() && t.Year() < 2200
}

func readUUIDv7(v view) Reading {
	return Reading{
		Kind:   "uuidv7",
		Layout: v.layout,
		Time:   combTime(v.key, EpochUnix),
		Random: fmt.Sprintf("%03x%016x", binary.BigEndian.Uint16(v.key[6:])&0xfff, tail62(v.key)),
	}
}

func readUUID(v view, version int) Reading {
	return Reading{
		Kind:   "uuidv" + strconv.Itoa(version),
		Layout: v.layout,
		Random: fmt.Sprintf("%x%03x%016x", v.key[:6],
			binary.BigEndian.Uint16(v.key[6:])&0xfff, tail62(v.key)),
	}
}

// readTypeID reads a key with a prefix, which is a UUID of any version.
func readTypeID(prefix string, key [16]byte) Reading {
	r := Reading{Kind: "uuid"}
	switch v, n := (view{dialect.SequentialAsString, key}), version(key); n {
	case 0:
	case 7:
		r = readUUIDv7(v)
	default:
		r = readUUID(v, n)
	}
	r.Prefix, r.UUID = prefix, dialect.Text(key)
	return r
}

// tail62 returns the second half of a UUID without the two bits of its variant.
func tail62(key [16]byte) uint64 {
	return binary.BigEndian.Uint64(key[8:]) &^ (0b11 << 62)
}

func readULID(v view) Reading {
	return Reading{
		Kind:   "ulid",
		Layout: v.layout,
		Time:   combTime(v.key, EpochUnix),
		Random: hex.EncodeToString(v.key[6:]),
	}
}

func readComb(v view, e Epoch) Reading {
	random := v.key[6:]
	if v.layout == dialect.SequentialAtEnd {
		stored := dialect.MixedEndian(dialect.AtEnd(v.key))
		random = stored[:combTailSize]
	}
	return Reading{
		Kind:   "comb",
		Layout: v.layout,
		Epoch:  e,
		Time:   combTime(v.key, e),
		Random: hex.EncodeToString(random),
	}
}

// inspectSnowflake returns the readings of an integer as a snowflake with the default
// bits and with [SnowflakeBits53]. At most one of them fits: with a time from 2024 to
// 2079, keys of the default bits are at least 2⁵⁸, and the others are below 2⁵³.
func inspectSnowflake(n int64) []Reading {
	var readings []Reading
	for _, bits := range []SnowflakeBits{{}, SnowflakeBits53()} {
		f, width := bits.format(), bits.Width()
		if n < 0 || n>>width > 0 {
			continue
		}
		tick, worker, sequence := f.Split(n)
		if t := f.TimeOf(tick); 2024 <= t.Year() && t.Year() < 2080 {
			readings = append(readings, Reading{
				Kind: "snowflake", Time: t, Width: width, Worker: worker, Sequence: sequence,
			})
		}
	}
	return readings
}

// parseHex reads 32 hexadecimal digits, bare or in an engine's notation for bytes.
func parseHex(text string) (b [16]byte, ok bool) {
	digits := text
	if len(text) > 2 {
		switch strings.ToLower(text[:2]) {
		case "0x", `\x`:
			digits = text[2:]
		case "x'":
			digits, ok = strings.CutSuffix(text[2:], "'")
			if !ok {
				return b, false
			}
		}
	}
	if len(digits) != 2*len(b) {
		return b, false
	}
	_, err := hex.Decode(b[:], []byte(digits))
	return b, err == nil
}
