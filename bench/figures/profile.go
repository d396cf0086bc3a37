package figures

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/keyfill/keyfill/bench/machine"
	"github.com/keyfill/keyfill/bench/page"
)

// Profile shows which parts of the code take the time of a way to use keyfill, and of its
// rival.
type Profile struct {
	What    string  `json:"what"`
	Against string  `json:"against,omitempty"` // the rival (the program compared with); empty if there is none
	Time    float64 `json:"time"`              // nanoseconds of CPU for each repetition, or each row
	Rival   float64 `json:"rival,omitempty"`   // the time that the rival takes, as Time
	Parts   []Part  `json:"parts"`
}

// Part is a part of the code that takes time: a function of keyfill's, including the calls
// that it makes into the standard library, or a whole other package.
type Part struct {
	Name   string  `json:"name"`
	Time   float64 `json:"time"`   // nanoseconds of CPU for each repetition
	Memory float64 `json:"memory"` // the nanoseconds of Time in which memory is allocated
	Rival  float64 `json:"rival"`  // the rival's time for this part, in nanoseconds
}

// way is a way to use keyfill that is profiled, with its rival. If the rival has no name,
// the way has no rival.
type way struct {
	what        string
	ours, rival Variant
	rows        int // the rows that a statement inserts: the time is given per row; 0 means one
}

// each returns the nanoseconds that turns took for each repetition, or for each row.
func (w way) each(t *profiledTurns) float64 { return t.each() / float64(max(1, w.rows)) }

// profileTurn is roughly how long a profiled turn takes: enough for forty samples if the
// client does all the work, and fewer if it waits for an engine.
const profileTurn = 400 * time.Millisecond

// profiler writes profiles into a folder.
type profiler struct {
	run    Run
	folder string
}

// all profiles ways to use keyfill one after the other; each takes turns with its rival
// (the program compared with).
func (p profiler) all(ways []way) ([]Profile, error) {
	var all []Profile
	for _, w := range ways {
		one, err := p.one(w)
		if err != nil {
			return nil, fmt.Errorf("figures: %s: %w", w.what, err)
		}
		all = append(all, one)
	}
	return all, nil
}

func (p profiler) one(w way) (Profile, error) {
	turns := []*profiledTurns{{variant: w.ours}}
	if w.rival.Name != "" {
		turns = append(turns, &profiledTurns{variant: w.rival})
	}
	for i, t := range turns {
		t.name = fmt.Sprintf("%s.%d", fileName(w.what), i)
		if err := t.settle(p.run); err != nil {
			return Profile{}, err
		}
	}
	for range p.run.Rounds {
		for _, t := range turns {
			if err := t.turn(p.folder); err != nil {
				return Profile{}, err
			}
		}
	}
	one := Profile{What: w.what, Against: w.rival.Name, Time: w.each(turns[0])}
	ours, err := turns[0].totals()
	if err != nil {
		return Profile{}, err
	}
	var rival profileTotals
	if len(turns) > 1 {
		one.Rival = w.each(turns[1])
		if rival, err = turns[1].totals(); err != nil {
			return Profile{}, err
		}
	}
	one.Parts = partsOf(ours, one.Time, rival, one.Rival)
	return one, nil
}

// profiledTurns are the turns of a variant, each of which has its own profile.
type profiledTurns struct {
	variant Variant
	name    string
	times   int // the number of repetitions in each turn
	files   []string
	used    time.Duration
}

// settle finds out how many repetitions a turn has. The first repetitions open connections
// and ask the engine about its tables, and do not count.
func (t *profiledTurns) settle(r Run) error {
	if _, err := t.do(10); err != nil {
		return err
	}
	for n := 10; ; n *= 2 {
		took, err := t.do(n)
		if err != nil {
			return err
		}
		if took > profileTurn/20 {
			t.times = r.times(int(float64(n) * float64(profileTurn) / float64(took)))
			return nil
		}
	}
}

// do runs the variant n times.
func (t *profiledTurns) do(n int) (time.Duration, error) {
	if t.variant.Setup != nil {
		if err := t.variant.Setup(n); err != nil {
			return 0, err
		}
	}
	start := processTime()
	err := t.variant.Run(n)
	return processTime() - start, err
}

// turn profiles one turn.
func (t *profiledTurns) turn(folder string) error {
	if t.variant.Setup != nil {
		if err := t.variant.Setup(t.times); err != nil {
			return err
		}
	}
	runtime.GC()
	file, err := os.Create(filepath.Join(folder, fmt.Sprintf("%s.%d.pprof", t.name, len(t.files))))
	if err != nil {
		return err
	}
	t.files = append(t.files, file.Name())
	if err := pprof.StartCPUProfile(file); err != nil {
		return err
	}
	start := processTime()
	err = t.variant.Run(t.times)
	t.used += processTime() - start
	pprof.StopCPUProfile()
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}

// each returns the nanoseconds for each repetition.
func (t *profiledTurns) each() float64 {
	return float64(t.used) / float64(len(t.files)*t.times)
}

// totals reads the profiles of all turns together.
func (t *profiledTurns) totals() (profileTotals, error) {
	text, err := run(".", "go", append([]string{"tool", "pprof", "-traces"}, t.files...)...)
	if err != nil {
		return profileTotals{}, err
	}
	return readTraces(text)
}

// partsOf returns the parts of a profile, whose repetitions take each nanoseconds, and of
// its rival (the program compared with). The part that takes longest comes first.
func partsOf(ours profileTotals, each float64, rival profileTotals, rivals float64) []Part {
	var all []Part
	share := func(of, all time.Duration, each float64) float64 {
		if all == 0 {
			return 0
		}
		return each * float64(of) / float64(all)
	}
	for name, took := range ours.parts {
		all = append(all, Part{name, share(took, ours.all, each), share(ours.memory[name], ours.all, each), share(rival.parts[name], rival.all, rivals)})
	}
	for name, took := range rival.parts {
		if _, ok := ours.parts[name]; !ok {
			all = append(all, Part{Name: name, Rival: share(took, rival.all, rivals)})
		}
	}
	slices.SortFunc(all, func(a, b Part) int {
		return cmp.Or(cmp.Compare(b.Time, a.Time), cmp.Compare(b.Rival, a.Rival), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// fileName returns a name for the files with the profiles of a way to use keyfill.
func fileName(what string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			return c
		}
		return '-'
	}, what)
}

// Profiles are the profiles of a run.
type Profiles struct {
	Machine  machine.Machine `json:"machine"`
	Rounds   int             `json:"rounds"`
	Profiles []Profile       `json:"profiles"`
}

// shownShare is the least share of the time that a part of the code must take, in keyfill
// or in its rival, to get a line. shownParts is how many lines there are at most.
const (
	shownShare = 0.015
	shownParts = 12
)

// Markdown returns the profiles as a part of a page.
func (p *Profiles) Markdown() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Profiled %s. %d turns of %d ms for each way and its rival.\n", p.Machine, p.Rounds, profileTurn.Milliseconds())
	for _, one := range p.Profiles {
		fmt.Fprintf(&b, "\n**%s**: %.0f ns", one.What, one.Time)
		if one.Against != "" {
			fmt.Fprintf(&b, "; %s: %.0f ns, %.2fx", one.Against, one.Rival, one.Time/one.Rival)
		}
		b.WriteString("\n\n" + one.table())
	}
	return b.String()
}

// table returns the parts that take much, and the sum of the other parts.
func (p *Profile) table() string {
	heads := []string{"where", "share", "ns", "of it memory"}
	if p.Against != "" {
		heads = append(heads, "ns of the rival")
	}
	var rows [][]string
	row := func(part Part) {
		cells := []string{"`" + part.Name + "`", fmt.Sprintf("%.0f %%", 100*part.Time/p.Time), fmt.Sprintf("%.0f", part.Time), fmt.Sprintf("%.0f", part.Memory)}
		if p.Against != "" {
			cells = append(cells, fmt.Sprintf("%.0f", part.Rival))
		}
		rows = append(rows, cells)
	}
	rest := Part{Name: "the rest"}
	for _, part := range p.Parts {
		if part.Rival <= shownShare*p.Rival && (part.Time < shownShare*p.Time || len(rows) >= shownParts) {
			rest.Time, rest.Memory, rest.Rival = rest.Time+part.Time, rest.Memory+part.Memory, rest.Rival+part.Rival
			continue
		}
		row(part)
	}
	if rest.Time > 0 || rest.Rival > 0 {
		row(rest)
	}
	return page.Table(heads, rows)
}
