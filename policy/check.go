package policy

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// version is the version of the file's format that this package reads.
const version = 1

// checker finds the mistakes of a configuration that do not depend on the dialect.
type checker struct {
	*mistakes
	config *Config
}

func (k checker) check() {
	c := k.config
	if c.Version != version && (c.Version != 0 || c.origin != nil) {
		k.wrong(place{}.in("version"), "there is no version %d; write version: %d", c.Version, version)
	}
	if names := dialectNames(); c.Dialect != "" && !slices.Contains(names, c.Dialect) {
		k.wrongField(place{}.in("dialect"), unknownWord("dialect", c.Dialect, names))
	}
	k.checkSettings()
	k.checkWords(place{}, c.Fill, c.Mode, c.Unsupported)
	if w := string(c.SessionReads); w != "" && !slices.Contains(sessionReadsWords, w) {
		k.wrongField(place{}.in("session_reads"), unknownWord(sessionReadsWhat, w, sessionReadsWords))
	}
	if c.Engine != "" && !slices.Contains(engineNames(), c.Engine) {
		k.wrongField(place{}.in("engine"), unknownWord("engine", c.Engine, engineNames()))
	}
	if c.Check != "" && !slices.Contains(checkWords, c.Check) {
		k.wrongField(place{}.in("check"), unknownWord("word for check:", c.Check, checkWords))
	}
	k.checkStores()
	if c.StoreWait < 0 {
		k.wrong(place{}.in("store_wait"), "want a time above 0")
	}
	sources := place{}.in("sources")
	for _, name := range slices.Sorted(maps.Keys(c.Sources)) {
		p := sources.entry(name)
		if !sourceName.MatchString(name) {
			k.wrong(p, "a source's name is of ASCII letters, digits, _ and -")
		}
		if kindByName(name) != nil {
			k.wrong(p, "this is the name of a kind of source; give the source another name")
		}
		checkSource(k.mistakes, p, c.Sources[name])
		k.checkStoreOf(p, c.Sources[name])
	}
	tables := place{}.in("tables")
	for _, name := range slices.Sorted(maps.Keys(c.Tables)) {
		k.checkTable(tables.entry(name), c.Tables[name])
	}
}

// checkWords checks the fields that both a file and a table have.
func (m *mistakes) checkWords(p place, f Fill, mode Mode, u Unsupported) {
	if f&^fillAll != 0 {
		m.wrong(p.in("fill"), "unknown bits %#x; use the constants of package policy", uint8(f&^fillAll))
	}
	if int(mode) >= len(modeNames) {
		m.wrongField(p.in("mode"), fmt.Sprintf("unknown mode %d", mode))
	}
	if u != "" && !slices.Contains(unsupportedWords, string(u)) {
		m.wrongField(p.in("unsupported"), unknownWord(unsupportedWhat, string(u), unsupportedWords))
	}
}

func (k checker) checkTable(p place, t Table) {
	k.checkWords(p, t.Fill, t.Mode, t.Unsupported)
	switch {
	case t.Column == "" && len(t.Keys) == 0:
		k.wrong(p, "the table has neither column nor keys; name the key column in column")
	case t.Column == "":
		if t.Source != "" || t.InPlace != nil {
			k.wrong(p.in("source"), "the source is given, but no column for it; name the column in column")
		}
		k.needless(p, "the source is given, but no column for it; name the column in column",
			givenField{"layout", t.Layout != ""}, givenField{"max_bits", t.MaxBits != 0}, givenField{"last_insert_id", t.LastInsertID != ""})
	}
	untouched := 0
	keys, places := t.keys(p)
	for i, key := range keys {
		if kind := k.checkKey(places[i], key); kind != nil && kind.isIdentity() {
			untouched++
		}
	}
	if untouched > 0 && untouched == len(keys) {
		k.checkUntouched(p, t)
	}
}

// checkUntouched reports the fields that the policy must not give for a table if the engine
// makes all keys of the table.
func (k checker) checkUntouched(p place, t Table) {
	k.needless(p, "this field has no use, as identity passes the table untouched; leave the field out",
		givenField{"columns", t.Columns != nil}, givenField{"fill", t.Fill != 0}, givenField{"mode", t.Mode != ModeFill}, givenField{"unsupported", t.Unsupported != ""})
}

// checkKey checks a key at p and returns the kind of its source, or nil if there is no
// such kind.
func (k checker) checkKey(p place, key Key) *kind {
	if key.Column == "" {
		k.wrong(p, "column is missing")
	}
	if key.Fill&^fillAll != 0 {
		k.wrong(p.in("fill"), "unknown bits %#x; use the constants of package policy", uint8(key.Fill&^fillAll))
	}
	kind := kindOf(k.source(p, key))
	l := string(key.Layout)
	if l != "" && !slices.Contains(layoutNames(), l) {
		k.wrongField(p.in("layout"), unknownWord("layout", l, layoutNames()))
		return kind
	}
	if b := key.MaxBits; b != 0 && !slices.Contains(keyWidths, b) {
		k.wrongField(p.in("max_bits"), unknownNumber("max_bits", b, keyWidths))
	}
	if w := string(key.LastInsertID); w != "" && !slices.Contains(lastInsertIDWords, w) {
		k.wrongField(p.in("last_insert_id"), unknownWord(lastInsertIDWhat, w, lastInsertIDWords))
	}
	switch {
	case kind == nil:
	case kind.isIdentity():
		k.checkLeft(p, key)
	default:
		k.checkSent(p, key, kind)
	}
	return kind
}

// checkLeft reports the fields that must not be given for the key at p, because the engine
// makes that key (source: identity).
func (k checker) checkLeft(p place, key Key) {
	k.needless(p, "this field has no use, as identity leaves the key to the engine; leave the field out",
		givenField{"layout", key.Layout != ""}, givenField{"max_bits", key.MaxBits != 0}, givenField{"last_insert_id", key.LastInsertID != ""}, givenField{"fill", key.Fill != 0})
}

// checkSent checks how a key at p is sent, and that fields for integer keys are given
// for integer keys only.
func (k checker) checkSent(p place, key Key, kind *kind) {
	at := p.in("layout")
	switch {
	case key.Layout == "" || slices.Contains(kind.layouts, key.Layout):
	case kind.layouts == nil:
		k.wrong(at, "%s needs a column of integers, of which the engine knows the greatest; leave it out", kind.name)
	case kind.integer:
		k.wrong(at, "%s makes integers, which cannot be sent as %s; leave it out, or say string for a text column", kind.name, key.Layout)
	default:
		k.wrong(at, "%s cannot be sent as %s; it takes %s", kind.name, key.Layout, enumerate(namesOf(kind.layouts), "or"))
	}
	if kind.integer {
		return
	}
	if key.MaxBits != 0 {
		k.wrong(p.in("max_bits"), "this field bounds integers, and %s makes none; leave the field out, or choose %s", kind.name, enumerate(integerKinds(), "or"))
	}
	if key.LastInsertID != "" {
		k.wrong(p.in("last_insert_id"), "LastInsertId gives integers, and %s makes none; leave this field out, or choose %s", kind.name, enumerate(integerKinds(), "or"))
	}
}

// keyWidths are the values that max_bits may have.
var keyWidths = []int{31, 53, 63}

// source returns the source of a key at p. It reports the mistakes of a source that is
// written in the table's entry. It also reports a source's name that is neither an entry of
// the section sources nor a kind.
func (k checker) source(p place, key Key) Source {
	at := p.in("source")
	switch {
	case key.InPlace != nil && key.Source != "":
		k.wrong(at, "the table has both the name of a source and a source in place; keep one")
		return Source{}
	case key.InPlace != nil:
		checkSource(k.mistakes, at, *key.InPlace)
	}
	s, ok := k.config.resolve(key)
	_, named := k.config.Sources[key.Source]
	switch {
	case key.InPlace != nil:
		k.checkStoreOf(at, s)
	case named:
		// check has checked this source together with the section sources.
	case ok:
		checkSource(k.mistakes, at, s) // the file gives only the name of a kind, and the kind may require more fields
	case !k.unread[place{}.in("sources")]:
		k.wrongField(at, unknownSource(key.Source, slices.Sorted(maps.Keys(k.config.Sources))))
	}
	return s
}

// unknownSource is [unknownWord] for a source: it proposes a kind, or one of the names
// under sources:, if there are any.
func unknownSource(got string, names []string) string {
	msg := unknownWord("source", got, append(kindNames(), names...))
	if len(names) == 0 && !strings.HasSuffix(msg, "?") {
		msg += "; another name has to stand under sources:"
	}
	return msg
}

// resolve returns the source of key, or false if its name is neither an entry of
// Sources nor a kind.
func (c *Config) resolve(key Key) (Source, bool) {
	if key.InPlace != nil {
		return *key.InPlace, true
	}
	if s, ok := c.Sources[key.Source]; ok {
		return s, true
	}
	name := key.Source
	if name == "" {
		name = defaultKind
	}
	return Source{Kind: name}, kindByName(name) != nil
}
