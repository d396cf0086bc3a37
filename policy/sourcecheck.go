package policy

// checkSource reports the mistakes of the source at p that do not depend on other
// entries.
func checkSource(m *mistakes, p place, s Source) {
	k := kindByName(s.Kind)
	switch {
	case s.Kind == "":
		m.wrong(p, "kind is missing; there are %s", enumerate(kindNames(), "and"))
		return
	case k == nil:
		m.wrongField(p.in("kind"), unknownWord("kind", s.Kind, kindNames()))
		return
	}
	for _, f := range ownFields {
		if !k.reads(f) && (f.isSet(&s) || m.has(p.in(f.name))) {
			m.wrong(p.in(f.name), "%s has none; leave it out, as it belongs to %s", s.Kind, enumerate(kindsWith(f.name), "and"))
		}
	}
	if k.check != nil {
		k.check(m, p, s)
	}
	for _, f := range k.fields {
		if f.check != nil {
			f.check(m, p, s)
		}
		if f.upstream != "" && s.Upstream != "" && f.isSet(&s) {
			m.wrong(p.in(f.name), "%s; leave one of the two out", f.upstream)
		}
	}
}
