package publicid_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/snowflakebits"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/publicid"
)

var update = flag.Bool("update", false, "write docs/vectors.json")

// vectorsFile has keys of every kind in every layout, for implementations in other languages.
const vectorsFile = "../docs/vectors.json"

// vectorTimes are the times of the keys: whole and with fractions, long ago and far ahead.
var vectorTimes = []time.Time{
	time.Date(2012, 6, 2, 0, 11, 11, 814_000_000, time.UTC),
	time.Date(2026, 11, 28, 0, 0, 0, 0, time.UTC),
	time.Date(2026, 11, 28, 12, 34, 56, 789_987_654, time.UTC),
	time.Date(2038, 1, 19, 3, 14, 8, 1_000, time.UTC),
}

// fields are the fields of a vector, in the order in which they are written.
type fields []any

// section is a part of the file.
type section struct {
	name    string
	vectors []fields
}

func (s *section) add(f ...any) { s.vectors = append(s.vectors, f) }

// shown is a key as text; bytes are hexadecimal digits.
func shown(key any) any {
	if b, ok := key.([]byte); ok {
		return hex.EncodeToString(b)
	}
	return key
}

// timeVectors are keys of random bits, most of them with a time.
func timeVectors(t *testing.T) section {
	s := section{name: "keys"}
	for _, kind := range []struct {
		name, epoch string
		random      int // how many random bytes a key takes
		noTime      bool
		layouts     []dialect.Layout
		source      func(keysource.Env) keysource.Source
	}{
		{"uuidv7", "", 8, false, allLayouts, func(e keysource.Env) keysource.Source { return keysource.NewUUIDv7(e) }},
		{"uuidv7 with a prefix", "", 8, false, allLayouts, func(e keysource.Env) keysource.Source { return prefixedSource(t, e) }},
		{"uuidv4", "", 16, true, allLayouts, func(e keysource.Env) keysource.Source { return keysource.NewUUIDv4(e) }},
		{"ulid", "", 10, false, allLayouts[:2], func(e keysource.Env) keysource.Source { return keysource.NewULID(e) }},
		{"comb", "dotnet", 10, false, allLayouts[:3], func(e keysource.Env) keysource.Source { return keysource.NewCOMB(e, keysource.EpochDotNet) }},
		{"comb", "unix", 10, false, allLayouts[:3], func(e keysource.Env) keysource.Source { return keysource.NewCOMB(e, keysource.EpochUnix) }},
	} {
		for i, at := range vectorTimes {
			random := bytes.Repeat([]byte{0, 0xff, byte(16*i + 1), byte(0x5a << i)}, 4)[:kind.random]
			for _, layout := range kind.layouts {
				source := kind.source(keysource.Env{Now: func() time.Time { return at }, Rand: bytes.NewReader(random)})
				keys, err := source.Next(t.Context(), keysource.Request{N: 1, Layout: layout})
				if err != nil {
					t.Fatal(err)
				}
				name, isPrefixed := strings.CutSuffix(kind.name, " with a prefix")
				f := fields{"kind", name, "layout", layout}
				if isPrefixed {
					f = append(f, "prefix", "cus")
				}
				if kind.epoch != "" {
					f = append(f, "epoch", kind.epoch)
				}
				if !kind.noTime {
					f = append(f, "time", at)
				}
				f = append(f, "random", hex.EncodeToString(random), "key", shown(keys[0]))
				if layout == dialect.SequentialAtEnd {
					stored := dialect.MixedEndian(uuid.MustParse(keys[0].(string)))
					f = append(f, "stored", hex.EncodeToString(stored[:]))
				}
				s.add(f...)
			}
		}
	}
	return s
}

// prefixedSource makes keys that begin with cus_.
func prefixedSource(t *testing.T, e keysource.Env) keysource.Source {
	t.Helper()
	s, err := keysource.NewTypeID(e, "cus")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var allLayouts = []dialect.Layout{dialect.SequentialAsString, dialect.SequentialAsBinary, dialect.SequentialAtEnd, dialect.Swapped}

// columnVectors are keys made from the values of columns.
func columnVectors(t *testing.T) section {
	s := section{name: "uuidv5"}
	for _, namespace := range []string{"c2c8b1ae-5d0f-4ab0-9a5e-0d8f9c6a2b17", "ffffffff-ffff-ffff-ffff-ffffffffffff"} {
		source := keysource.NewUUIDv5(uuid.MustParse(namespace))
		for _, values := range [][]any{
			{int64(0)}, {int64(-1)}, {int64(math.MinInt64)}, {uint64(math.MaxUint64)}, {""}, {"1"}, {int64(1)}, {"a", "b"}, {"ab", ""}, {"größe", int64(7)}, {int64(7), "größe"}, {"日本😀", "\t'\\"}, {strings.Repeat("x", 300)},
		} {
			types := make([]string, len(values))
			for i, v := range values {
				if types[i] = "integer"; reflect.TypeOf(v).Kind() == reflect.String {
					types[i] = "text"
				}
			}
			for _, layout := range allLayouts {
				key, err := source.Value(layout, values...)
				if err != nil {
					t.Fatal(err)
				}
				f := fields{"layout", layout, "namespace", namespace, "types", types, "values", values, "key", shown(key)}
				if layout == dialect.SequentialAtEnd {
					stored := dialect.MixedEndian(uuid.MustParse(key.(string)))
					f = append(f, "stored", hex.EncodeToString(stored[:]))
				}
				s.add(f...)
			}
		}
	}
	return s
}

// TestPythonUUIDv5: Python makes the same keys from the values in docs/vectors.json.
func TestPythonUUIDv5(t *testing.T) {
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed: the keys are compared with this repository alone")
	}
	said, err := exec.CommandContext(t.Context(), python, "testdata/uuidv5.py", vectorsFile).CombinedOutput()
	if err != nil || string(said) != "104 keys are the same\n" {
		t.Errorf("testdata/uuidv5.py: %v\n%s", err, said)
	}
}

// snowflakeVectors are integers of a time, a worker and a sequence.
func snowflakeVectors(t *testing.T) (keys, composites section) {
	keys.name, composites.name = "snowflakes", "composites"
	for _, bits := range []keysource.SnowflakeBits{{}, keysource.SnowflakeBits53(), {Time: 31, Worker: 16, Sequence: 16, Unit: time.Second, Epoch: time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)}} {
		b := bits.WithDefaults()
		for i, at := range vectorTimes[1:] {
			worker, sequence := int64(37*i), int64(1000*i)
			key := snowflake(b, at, worker, sequence)
			if r, err := keysource.InspectSnowflake(fmt.Sprint(key), bits); err != nil || r.Worker != worker || r.Sequence != sequence || at.Sub(r.Time) >= b.Unit || at.Before(r.Time) {
				t.Errorf("the snowflake of %v is read as %+v, error %v", at, r, err)
			}
			keys.add("kind", "snowflake", "time_bits", b.Time, "worker_bits", b.Worker, "sequence_bits", b.Sequence,
				"unit", b.Unit.String(), "epoch", b.Epoch, "time", at, "worker", worker, "sequence", sequence, "key", key)
		}
	}
	for _, length := range []int{20, 24} {
		c, err := keysource.NewComposite(length)
		if err != nil {
			t.Fatal(err)
		}
		for i, at := range vectorTimes[1:] {
			worker, sequence := int64(7+99*i), int64(0)
			if length == 24 {
				sequence = int64(42 * i)
			}
			number := snowflake(c.Bits(), at, worker, sequence)
			composites.add("kind", "composite", "length", length, "time", at, "spread", worker, "counter", sequence, "key", c.Key(number, ""))
		}
	}
	return keys, composites
}

// snowflake returns the key of a worker and a sequence at a time.
func snowflake(b keysource.SnowflakeBits, at time.Time, worker, sequence int64) int64 {
	f := snowflakebits.New(b.Time, b.Worker, b.Sequence, b.Unit, b.Epoch)
	return f.Key(f.TickOf(at.UnixMilli()-f.Epoch)<<f.SequenceBits|sequence, worker)
}

// mappingVectors are the keys of numbers.
func mappingVectors(t *testing.T) section {
	s := section{name: "mappings"}
	add := func(m keysource.Mapping, err error, parameters ...any) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		for _, number := range []int64{1, 2, 1000, m.Last()} {
			s.add(append(append(fields{}, parameters...), "number", number, "key", m.Key(number, ""))...)
		}
	}
	for _, bits := range []int{31, 53, 63} {
		m, err := keysource.NewScatter(bits, "orders.id")
		add(m, err, "kind", "scatter", "bits", bits, "scatter_key", "orders.id")
	}
	add(keysource.NewPseudorandom(), nil, "kind", "pseudorandom")
	for _, o := range []keysource.CoprimeOptions{{Length: 6, Alphabet: keysource.AlphabetBase62}, {Length: 8, Alphabet: keysource.AlphabetBase32}} {
		m, err := keysource.NewCoprime(o)
		add(m, err, "kind", "coprime", "length", o.Length, "alphabet", o.Alphabet)
	}
	return s
}

// boundVectors are the bounds of a day and of a range that units cut.
func boundVectors(t *testing.T) section {
	s := section{name: "bounds"}
	for _, times := range [][2]time.Time{{vectorTimes[1], vectorTimes[1].AddDate(0, 0, 1)}, {vectorTimes[2], vectorTimes[2].Add(1234567)}} {
		add := func(low, high any, err error, f ...any) {
			t.Helper()
			if err != nil {
				t.Fatal(err)
			}
			s.add(append(f, "from", times[0], "to", times[1], "low", shown(low), "high", shown(high))...)
		}
		for _, l := range allLayouts[:3] {
			low, high, err := keysource.UUIDv7Bounds(times[0], times[1], l)
			add(low, high, err, "kind", "uuidv7", "layout", l)
			for _, epoch := range []keysource.Epoch{keysource.EpochDotNet, keysource.EpochUnix} {
				low, high, err := keysource.COMBBounds(times[0], times[1], epoch, l)
				add(low, high, err, "kind", "comb", "layout", l, "epoch", epoch)
			}
			if l != dialect.SequentialAtEnd {
				low, high, err := keysource.ULIDBounds(times[0], times[1], l)
				add(low, high, err, "kind", "ulid", "layout", l)
			}
		}
		for _, bits := range []keysource.SnowflakeBits{{}, keysource.SnowflakeBits53()} {
			low, high, err := keysource.SnowflakeBounds(times[0], times[1], bits, "")
			add(low, high, err, "kind", "snowflake", "width", bits.Width())
		}
		low, high, err := publicid.Bounds[customer](times[0], times[1])
		add(low, high, err, "kind", "typeid", "prefix", "cus")
	}
	return s
}

// publicVectors are ids that people see.
func publicVectors(t *testing.T) (typeids, masks, numbers section) {
	typeids.name, masks.name, numbers.name = "typeids", "masks", "numbers"
	ids := []uuid.UUID{sample(), uuid.MustParse("01a21f73-9c00-7000-8000-000000000000"), uuid.MustParse("ffffffff-ffff-7fff-bfff-ffffffffffff")}
	for _, id := range ids {
		typeids.add("prefix", "cus", "uuid", id, "text", publicid.FromUUID[customer](id))
		typeids.add("prefix", "", "uuid", id, "text", publicid.FromUUID[bare](id))
		for _, purpose := range []string{"", "customers"} {
			masks.add("secret", hex.EncodeToString(secret()), "purpose", purpose, "uuid", id, "masked", hide(t, newMask(t, purpose, secret()), id))
		}
	}
	for _, number := range []int64{0, 1, 2, 1<<63 - 1} {
		for _, purpose := range []string{"", "orders"} {
			numbers.add("secret", hex.EncodeToString(secret()), "purpose", purpose, "number", number, "text", textOf(t, newNumber(t, purpose, secret()), number))
		}
	}
	return typeids, masks, numbers
}

// TestVectors: docs/vectors.json has what this repository makes of the same inputs.
// go test -run 'TestVectors$' ./publicid -update writes it.
func TestVectors(t *testing.T) {
	snowflakes, composites := snowflakeVectors(t)
	typeids, masks, numbers := publicVectors(t)
	var b strings.Builder
	b.WriteString("{\n")
	all := []section{timeVectors(t), columnVectors(t), snowflakes, composites, mappingVectors(t), boundVectors(t), typeids, masks, numbers}
	for i, s := range all {
		fmt.Fprintf(&b, " %q: [\n", s.name)
		for j, f := range s.vectors {
			b.WriteString("  {")
			for k := 0; k < len(f); k += 2 {
				value, err := json.Marshal(f[k+1])
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "%s%q: %s", strings.Repeat(", ", min(k, 1)), f[k], value)
			}
			b.WriteString("}" + strings.Repeat(",", min(len(s.vectors)-1-j, 1)) + "\n")
		}
		b.WriteString(" ]" + strings.Repeat(",", min(len(all)-1-i, 1)) + "\n")
	}
	b.WriteString("}\n")
	if !json.Valid([]byte(b.String())) {
		t.Error("the vectors are not JSON")
	}
	if *update {
		if err := os.WriteFile(vectorsFile, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(vectorsFile)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != b.String() {
		t.Errorf("%s has other vectors: a key of the same inputs is the same in every release. If only vectors were added, run go test -run 'TestVectors$' ./publicid -update", vectorsFile)
	}
}
