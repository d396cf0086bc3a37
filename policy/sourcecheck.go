package policy

import (
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/internal/anchor"
	"github.com/keyfill/keyfill/keysource"
)

// checkSource reports the mistakes of the source at p, as far as they can be told
// from the source alone.
func (m *mistakes) checkSource(p place, s Source) {
	k := kindByName(s.Kind)
	switch {
	case s.Kind == "":
		m.wrong(p, "kind is missing; there are %s", enumerate(kindNames(), "and"))
		return
	case k == nil:
		m.wrongField(p.in("kind"), unknownWord("kind", s.Kind, kindNames()))
		return
	}
	for _, f := range sourceKeys {
		if !slices.Contains(k.fields, f.name) && (f.isSet(&s) || m.has(p.in(f.name))) {
			m.wrong(p.in(f.name), "%s has none; leave it out, as it belongs to %s", s.Kind, enumerate(kindsWith(f.name), "and"))
		}
	}
	if k.check != nil {
		k.check(m, p, s)
	}
}

func (m *mistakes) checkCOMB(p place, s Source) {
	if s.Epoch != "" && !slices.Contains(epochs, string(s.Epoch)) {
		m.wrongField(p.in("epoch"), unknownWord("epoch", string(s.Epoch), epochs))
	}
}

// checkWord checks a word, which is the field of the source at p.
func checkWord[V ~string](m *mistakes, p place, field string, word V, words []string) {
	if word != "" && !slices.Contains(words, string(word)) {
		m.wrongField(p.in(field), unknownWord(fieldWhat(field), string(word), words))
	}
}

// fieldWhat names such a word in messages.
func fieldWhat(field string) string { return "word for " + field + ":" }

func (m *mistakes) checkSnowflake(p place, s Source) {
	m.checkState(p, s)
	if s.Store == StoreNone && s.EnsureSchema {
		m.wrong(p.in("ensure_schema"), "it has no use without a store; leave it out")
	}
	if s.OnBehind == keysource.RemedyAdvance {
		m.wrong(p.in("on_behind"), "the keys of a snowflake follow the clock, and cannot advance; say error or warn")
	} else {
		checkWord(m, p, "on_behind", s.OnBehind, remedies)
	}
	if m.checkBits(p, s) {
		m.checkWorker(p, s)
	}
}

// checkBits checks the bits of the snowflake at p, and reports whether
// they are right.
func (m *mistakes) checkBits(p place, s Source) bool {
	custom := ""
	var missing []string
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"time_bits", s.TimeBits != 0},
		// In Go, 0 is right where there are bits of time.
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
		m.wrong(p.in(custom), "bits says it already; take one")
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

// workerFields are the fields of which one gives the worker's number of a snowflake.
func (s Source) workerFields() (given []string) {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"worker", s.Worker != nil}, {"worker_env", s.WorkerEnv != ""},
		{"worker_ordinal", s.WorkerOrdinal}, {"worker_lease", s.WorkerLease != 0}, {"spread", s.Spread != ""},
	} {
		if f.given {
			given = append(given, f.name)
		}
	}
	return given
}

// checkWorker checks where the number of the worker comes from. The environment
// and the host's name are looked at when a database is opened.
func (m *mistakes) checkWorker(p place, s Source) {
	given := s.workerFields()
	switch {
	case given == nil && s.Kind == KindComposite:
		m.wrong(p, "a composite begins with the number of its worker or another spread: say worker_env, worker_ordinal, worker_lease, worker or spread, as in {kind: composite, worker_env: APP_WORKER}")
	case given == nil:
		m.wrong(p, "a snowflake needs the number of its worker: say worker_env, worker_ordinal, worker_lease or worker, as in {kind: snowflake, worker_env: APP_WORKER}")
	case len(given) > 1:
		m.wrong(p.in(given[1]), "%s says it already; take one", given[0])
	case s.WorkerLease != 0 && (s.WorkerLease < minWorkerLease || s.WorkerLease > maxLease):
		m.wrong(p.in("worker_lease"), "%v is not from %v to %v", s.WorkerLease, minWorkerLease, maxLease)
	case s.WorkerLease != 0 && s.Store == StoreNone:
		m.wrong(p.in("worker_lease"), "a number is leased in a store, and there is none; leave out store, or say worker_env, worker_ordinal or worker")
	case s.WorkerEnv != "" && !variableName.MatchString(s.WorkerEnv):
		m.wrong(p.in("worker_env"), "%s", variableMessage)
	case s.Worker != nil:
		if _, err := s.SnowflakeOptions().Number(); err != nil {
			m.wrongField(p.in("worker"), reason(err))
		}
	}
}

// suitSnowflake checks the snowflake at p for a dialect.
func (n namer) suitSnowflake(m *mistakes, p place, s Source) {
	if s.WorkerLease != 0 && s.Store == "" && n.d.OneWriter {
		m.wrong(p.in("worker_lease"), "%s keeps no state apart from the statement's transaction, so that a number cannot be leased there; give the source a store, or say worker_env, worker_ordinal or worker", n.d.Title)
	}
}

// reason returns the text of an error about options without the prefix that calls it
// one.
func reason(err error) string {
	return strings.TrimPrefix(anchor.Plain(err.Error()), anchor.Plain(keysource.ErrOptions.Error())+": ")
}

var (
	epochs = []string{string(keysource.EpochDotNet), string(keysource.EpochUnix)}

	remedies = []string{
		string(keysource.RemedyError), string(keysource.RemedyAdvance), string(keysource.RemedyWarn),
	}

	snowflakeWidths = []int{53, 63}
)
