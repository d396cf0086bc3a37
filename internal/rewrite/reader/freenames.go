package reader

import (
	"strings"

	"github.com/keyfill/keyfill/internal/rewrite/scan"
)

// FreeNames caches names that do not occur in the text, so that keyfill can add them to it.
// A text of many INSERTs needs the same names again and again.
type FreeNames struct {
	asked    bool              // whether lower and Numbered are set
	lower    string            // the text in lower case; empty if it has no kf, with which keyfill's names begin
	Numbered bool              // whether the text may hold c1, c2 …
	found    map[string]string // the results of Unused
}

// Frees returns the cache of names that do not occur in the text.
func (p *Reader) Frees() *FreeNames {
	if p.Free == nil {
		p.Free = &FreeNames{}
	}
	f := p.Free
	if !f.asked {
		f.asked, f.Numbered = true, p.holdsNumbered()
		if mayHoldKF(p.Text) {
			f.lower = strings.ToLower(p.Text)
		}
	}
	return f
}

// holdsNumbered reports whether the text may hold a name like c1.
func (p *Reader) holdsNumbered() bool {
	for i := range len(p.Text) - 1 {
		if scan.IsDigit(p.Text[i+1]) && p.Text[i]|0x20 == 'c' && (i == 0 || !p.IsPart(p.Text[i-1])) {
			return true
		}
	}
	return false
}

// Unused returns name, which has kf in it, with as many underscores after it as make it a
// name that does not occur in the text.
func (p *Reader) Unused(name string) string {
	f := p.Frees()
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

// mayHoldKF reports whether the text may hold kf in any case: some non-ASCII letters have
// k as their lower case.
func mayHoldKF(text string) bool {
	for i := 1; i < len(text); i++ {
		if text[i]|0x20 == 'f' && (text[i-1]|0x20 == 'k' || text[i-1] >= 0x80) {
			return true
		}
	}
	return false
}
