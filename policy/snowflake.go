package policy

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/counting"
	"github.com/keyfill/keyfill/keysource"
)

var snowflakeKind = kind{
	name:      KindSnowflake,
	doc:       "integers of the time, a worker's number and a sequence number",
	guarantee: Guarantee{Unique: Unique, Ordered: OrderedInProcess, Contiguous: true},
	integer:   true,
	stateful:  true,
	layouts:   asText,
	fields: []*sourceField{
		epochField, nameField, storeField, ensureSchemaField, exclusiveField, onBehindField,
		workerField, workerEnvField, workerOrdinalField, workerLeaseField,
		bitsField, timeBitsField, workerBitsField, sequenceBitsField, unitField,
	},
	check:    checkSnowflake,
	suit:     namer.suitSnowflake,
	defaults: completeSnowflake,
	open: func(s Source, env keysource.Env) (keysource.Source, error) {
		if s.WorkerLease > 0 {
			return ofDatabase(s, env)
		}
		source, err := counting.NewSnowflake(nil, s.SnowflakeOptions(), env)
		if err != nil {
			return nil, err // not source, which is a nil *Snowflake and would make a non-nil interface
		}
		return source, nil
	},
}

var bitsField = of("bits", "How many bits a key has: 63, or 53, which a number of JavaScript holds.",
	choice("bits", snowflakeWidths), func(s *Source) *int { return &s.Bits }).byDefault(63).as(53)

var timeBitsField = of("time_bits", "How many bits of a key are the time, together with worker_bits and sequence_bits, and instead of bits. Left out, bits says it.",
	atLeast(1), func(s *Source) *int { return &s.TimeBits }).as(39)

var workerBitsField = of("worker_bits", "How many bits of a key are the worker's number. Left out, bits says it.",
	atLeast(0), func(s *Source) *int { return &s.WorkerBits }).as(16)

var sequenceBitsField = of("sequence_bits", "How many bits of a key are its number within a unit of time. Left out, bits says it.",
	atLeast(0), func(s *Source) *int { return &s.SequenceBits }).as(8)

var unitField = of("unit", "The unit of the time, together with time_bits, from 1ms to 1s.",
	unitShape, func(s *Source) *time.Duration { return &s.Unit }).byDefault("1ms").as("10ms")

func checkSnowflake(m *mistakes, p place, s Source) {
	checkState(m, p, s)
	if s.Store == StoreNone && s.EnsureSchema {
		m.wrong(p.in("ensure_schema"), "this field has no use without a store; leave the field out")
	}
	if s.OnBehind == keysource.RemedyAdvance {
		m.wrong(p.in("on_behind"), "a snowflake takes its keys from the clock, so it cannot advance to a greater key; write error or warn")
	} else {
		checkWord(m, p, "on_behind", s.OnBehind, remedies)
	}
	if checkBits(m, p, s) {
		checkWorker(m, p, s)
	}
}

// checkBits checks the bits of the snowflake at p, and reports whether they are right.
func checkBits(m *mistakes, p place, s Source) bool {
	custom := ""
	var missing []string
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"time_bits", s.TimeBits != 0},
		// A configuration built in Go may leave WorkerBits and SequenceBits 0 if it sets
		// TimeBits.
		{"worker_bits", s.WorkerBits != 0 || s.TimeBits != 0 && !m.isRead()},
		{"sequence_bits", s.SequenceBits != 0 || s.TimeBits != 0 && !m.isRead()},
	} {
		if !f.given && !m.has(p.in(f.name)) {
			missing = append(missing, f.name)
		} else if custom == "" {
			custom = f.name
		}
	}
	if custom == "" && s.Unit != 0 {
		custom = "unit"
	}
	switch {
	case s.Bits != 0 && !slices.Contains(snowflakeWidths, s.Bits):
		m.wrongField(p.in("bits"), unknownNumber("bits", s.Bits, snowflakeWidths))
		return false
	case s.Bits != 0 && custom != "":
		m.wrong(p.in(custom), "bits says the same as this field; keep one of the two")
		return false
	case custom != "" && missing != nil:
		m.wrong(p.in(custom), "say %s too", enumerate(missing, "and"))
		return false
	}
	if _, err := time.Parse(time.DateOnly, string(s.Epoch)); s.Epoch != "" && err != nil {
		m.wrong(p.in("epoch"), "want a day as in 2020-01-01")
		return false
	}
	if err := s.SnowflakeOptions().Bits.Check(); err != nil {
		if custom == "" {
			custom = "epoch"
		}
		m.wrongField(p.in(custom), reason(err))
		return false
	}
	return true
}

// suitSnowflake checks the snowflake at p for a dialect.
func (n namer) suitSnowflake(m *mistakes, p place, s Source) {
	if s.WorkerLease != 0 && s.Store == "" && n.d.OneWriter {
		m.wrong(p.in("worker_lease"), "%s keeps no state apart from the statement's transaction, so that a number cannot be leased there; give the source a store, or say worker_env, worker_ordinal or worker", n.d.Title)
	}
}

// SnowflakeOptions returns the options of the snowflake s, or of the snowflake that a
// composite is made of: all except Marker and a leased worker's number. It
// reads neither the environment nor the host's name. [Config.Compile] must accept s.
func (s Source) SnowflakeOptions() keysource.SnowflakeOptions {
	o := keysource.SnowflakeOptions{
		WorkerEnv: s.WorkerEnv,
		Ordinal:   s.WorkerOrdinal,
		Bits: keysource.SnowflakeBits{
			Time: s.TimeBits, Worker: s.WorkerBits, Sequence: s.SequenceBits, Unit: s.Unit,
		},
	}
	if s.Worker != nil {
		o.Worker = new(*s.Worker)
	}
	if s.Kind == KindComposite {
		// CompositeBits fails only for a length that Compile refuses.
		o.Bits, _ = keysource.CompositeBits(cmp.Or(s.Length, compositeLengths[0]))
		return o
	}
	if s.Bits == 53 {
		o.Bits = keysource.SnowflakeBits53()
	}
	if day, err := time.Parse(time.DateOnly, string(s.Epoch)); err == nil {
		o.Bits.Epoch = day
	}
	return o
}

// completeSnowflake sets the fields that a snowflake leaves out to their defaults.
func completeSnowflake(s *Source, _ *dialect.Dialect) {
	s.Epoch = cmp.Or(s.Epoch, "2020-01-01")
	s.OnBehind = cmp.Or(s.OnBehind, keysource.RemedyError)
	if s.TimeBits == 0 {
		s.Bits = cmp.Or(s.Bits, 63)
	} else {
		s.Unit = cmp.Or(s.Unit, time.Millisecond)
	}
}

const unitPattern = `^[0-9]+(ms|s)$`

var unit = regexp.MustCompile(unitPattern)

// unitShape is the shape (type of a value in the file) of a unit of time.
var unitShape = shape[time.Duration]{
	read: func(r *reader, p place, n *yaml.Node) time.Duration {
		if !r.isString(p, n) {
			return 0
		}
		d, err := time.ParseDuration(n.Value)
		if !unit.MatchString(n.Value) || err != nil || d <= 0 {
			r.misread(positionOf(n), p, "want a number of milliseconds or a second, as in 100ms")
		}
		return d
	},
	schema: schema{"type": "string", "pattern": unitPattern},
}

var snowflakeWidths = []int{53, 63}
