package policy_test

import (
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// FuzzParse: nothing panics, a configuration compiles or fails for every
// dialect, and compiling it twice gives the same.
func FuzzParse(f *testing.F) {
	for _, c := range goldenCases(f) {
		f.Add([]byte(c.in))
	}
	f.Add([]byte("\xff\xfev\x00"))
	f.Add([]byte("a: &a [*a, *a]\n<<: *a\n? [b]\n: c\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		cfg, err := policy.Parse(data)
		if err != nil {
			if cfg != nil {
				t.Errorf("Parse(%q) returns a configuration and %v", data, err)
			}
			return
		}
		for _, d := range dialect.All() {
			p, err := cfg.Compile(d)
			if err != nil {
				continue
			}
			again, err := cfg.Compile(d)
			if err != nil || policy.Dump(again) != policy.Dump(p) {
				t.Errorf("Compile(%s) of %q differs the second time: %v", d.Name, data, err)
			}
			for name := range cfg.Tables {
				if r := p.Match("", name); r != nil && !r.Identity && len(r.Keys) == 0 {
					t.Errorf("Match(%q) has neither keys nor Identity", name)
				}
			}
		}
	})
}
