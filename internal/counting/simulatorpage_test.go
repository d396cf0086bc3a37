package counting_test

import (
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/sim"
)

// TestSimulatorPage: the code of today prints the stories in docs/simulator.md. A line
// "…" stands for lines that are left out.
func TestSimulatorPage(t *testing.T) {
	const path = "../../docs/simulator.md"
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	trials := map[string]*sim.Trial{"sequence": seqTrial(seqMutant{})}
	for _, m := range seqMutants {
		trials["sequence mutants/"+m.name] = seqTrial(m)
	}
	story := regexp.MustCompile("(?s)<!-- story: ([^\n]+) (\\d+) -->\n```text\n(.*?)```\n")
	found := story.FindAllStringSubmatch(string(page), -1)
	if len(found) != 2 {
		t.Errorf("%s has %d stories, want 2", path, len(found))
	}
	for _, one := range found {
		name, text := one[1], one[3]
		seed, err := strconv.ParseUint(one[2], 10, 64)
		if err != nil || trials[name] == nil {
			t.Errorf("%s has a story of %q %s, which is not there", path, name, one[2])
			continue
		}
		whole := trials[name].One(t, seed).Story(name)
		rest := whole
		for _, part := range strings.Split(text, "…\n") {
			_, after, ok := strings.Cut(rest, part)
			if !ok {
				t.Errorf("%s: the story of %q %d has no longer\n%s\nbut is\n%s", path, name, seed, part, whole)
				break
			}
			rest = after
		}
	}
}
