package rewrite

import "strings"

// freeNames remembers names that a text does not hold. A text of many INSERTs asks
// for the same ones again and again.
type freeNames struct {
	asked    bool              // the others are known
	lower    string            // the text in lower case, where it may hold kf
	numbered bool              // it may hold c1, c2 …
	found    map[string]string // the results of unused
}

// frees returns the names that the text does not hold, as far as they were
// asked for.
func (p *reader) frees() *freeNames {
	if p.free == nil {
		p.free = &freeNames{}
	}
	f := p.free
	if !f.asked {
		f.asked, f.numbered = true, p.holdsNumbered()
		if mayHoldKF(p.q) {
			f.lower = strings.ToLower(p.q)
		}
	}
	return f
}

// holdsNumbered reports whether the text may hold a name like c1.
func (p *reader) holdsNumbered() bool {
	for i := range len(p.q) - 1 {
		if isDigit(p.q[i+1]) && p.q[i]|0x20 == 'c' && (i == 0 || !p.isPart(p.q[i-1])) {
			return true
		}
	}
	return false
}

// unused returns name, which has kf in it, with as many underscores behind it as
// it takes for the text not to hold it.
func (p *reader) unused(name string) string {
	f := p.frees()
	if f.lower == "" {
		return name
	}
	free, ok := f.found[name]
	if ok {
		return free
	}
	for free = name; strings.Contains(f.lower, strings.ToLower(free)); {
		free += "_"
	}
	if f.found == nil {
		f.found = map[string]string{}
	}
	f.found[name] = free
	return free
}

// mayHoldKF reports whether the text may hold kf in any case: there are letters
// that are not ASCII and whose lower case is k.
func mayHoldKF(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i]|0x20 == 'f' && (text[i-1]|0x20 == 'k' || text[i-1] >= 0x80) {
			return true
		}
	}
	return false
}
