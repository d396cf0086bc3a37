// Command judge gives the statements of a corpus to keyfill and its answers to parsers that
// know nothing of keyfill, and prints what they say: per dialect and kind how many were
// filled, kept, passed and refused, for which reasons, and which answers are wrong. It puts
// unknown words into the clauses of the INSERTs that are filled: an INSERT that is still
// filled, and that the parser does not accept, is wrong. So is a text that keyfill treats
// as harmless although it calls an unknown function, or has an unknown statement. It exits
// with 1 when an answer is wrong, too few texts are filled, or compiling takes too long.
//
//	go run . -corpus folder
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/keyfill/keyfill/internal/corpus"
	"github.com/keyfill/keyfill/judge/quiet"
	"github.com/keyfill/keyfill/judge/report"
	"github.com/keyfill/keyfill/judge/speed"
	"github.com/keyfill/keyfill/judge/tree"
	"github.com/keyfill/keyfill/judge/trial"
)

// options are the flags.
type options struct {
	folder, dialects, kinds, show, list string
	examples                            int
	integers                            bool
	speed                               bool
	bars                                report.Bars
	refused                             map[string]float64 // the highest allowed share of refused INSERTs of applications, in percent, by source
}

func main() {
	var o options
	flag.StringVar(&o.folder, "corpus", "", "folder with `<dialect>.jsonl` files")
	flag.StringVar(&o.dialects, "dialects", "", "only these `dialects`, with commas between")
	flag.StringVar(&o.kinds, "by", "judge", "kinds in the tables: judge, or corpus for those of its lines; then no bar is asked for")
	flag.StringVar(&o.show, "show", "", "print the text, the answer and the verdict of the line with this `id`")
	flag.StringVar(&o.list, "list", "", "the same for the lines with this `kind/action`, such as values/refuse")
	flag.IntVar(&o.examples, "examples", 10, "how many wrong and missed texts to name")
	flag.BoolVar(&o.integers, "integers", false, "integer keys for all texts, not only for INSERT … SELECT")
	flag.BoolVar(&o.speed, "speed", false, "measure how long the texts take to compile, and judge nothing; no bar is asked for")
	flag.Float64Var(&o.bars.Values, "values", 99.5, "percent to fill of INSERTs with columns and rows")
	flag.Float64Var(&o.bars.Several, "several", 99.5, "percent to fill of such INSERTs in texts of several statements")
	flag.Float64Var(&o.bars.Query, "select", 98, "percent to fill of INSERT … SELECT with columns")
	refusedUUIDs := flag.Float64("refused-uuids", 0, "percent of applications' INSERTs that may be refused with uuidv7; 0 asks for nothing")
	refusedIntegers := flag.Float64("refused-integers", 0, "the same with sequence")
	flag.Parse()
	o.refused = map[string]float64{"uuidv7": *refusedUUIDs, "sequence": *refusedIntegers}
	passed, err := run(os.Stdout, &o)
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "judge:", err)
		os.Exit(2)
	case !passed:
		os.Exit(1)
	}
}

// run judges all files, prints what it finds and reports whether all bars (required shares
// and times) are kept.
func run(w io.Writer, o *options) (bool, error) {
	files, err := corpus.Files(o.folder)
	if err != nil {
		return false, err
	}
	passed, judged := true, false
	var reports []*report.Report
	for _, f := range files {
		statements, err := f.Read()
		if err != nil {
			return false, err
		}
		if f.Applications {
			ok, err := applications(w, o, f, statements)
			if err != nil {
				return false, err
			}
			passed, judged = passed && ok, true
			continue
		}
		for _, d := range f.Dialects {
			if !o.takes(d) {
				continue
			}
			if o.speed {
				if err := measure(w, o, d, statements); err != nil {
					return false, err
				}
				continue
			}
			r, err := judge(w, o, d, statements)
			if err != nil {
				return false, err
			}
			r.Print(w, o.examples)
			reports = append(reports, r)
			law, err := quietness(w, o, d, statements)
			if err != nil {
				return false, err
			}
			passed = passed && law.Wrong == 0
		}
	}
	for _, r := range reports {
		if o.kinds != "corpus" && !r.Passed(w, o.bars) || r.Wrong() > 0 {
			passed = false
		}
	}
	return passed && (o.speed || judged || len(reports) > 0), nil
}

// quietness judges keyfill's answers about statements that should change nothing.
func quietness(w io.Writer, o *options, dialectName string, statements []corpus.Statement) (*quiet.Report, error) {
	r, err := quiet.New(dialectName)
	if err != nil {
		return nil, err
	}
	for _, s := range statements {
		r.Add(s.ID, s.SQL)
	}
	r.Print(w, o.examples)
	return r, nil
}

// takes reports whether a dialect is asked for.
func (o *options) takes(dialect string) bool {
	return o.dialects == "" || strings.Contains(","+o.dialects+",", ","+dialect+",")
}

// applications prints how many INSERTs of applications are refused, by dialect and source.
// It reports whether none of the answers is wrong and the required shares are reached. The
// corpus has the same statements for MySQL and MariaDB; they are counted once.
func applications(w io.Writer, o *options, f corpus.File, statements []corpus.Statement) (bool, error) {
	if o.speed {
		return true, nil
	}
	passed := true
	for _, source := range []struct{ name, policy string }{{"uuidv7", trial.UUIDs}, {"sequence", trial.Integers}} {
		all := &report.Refusals{Source: source.name}
		for _, d := range f.Dialects {
			mine := corpus.Of(d, statements)
			if len(mine) == 0 || !o.takes(d) {
				continue
			}
			r, err := refusals(w, o, d, source.name, source.policy, mine)
			if err != nil {
				return false, err
			}
			passed = r.Print(w, "applications, "+d, o.examples, 0) && passed && r.Wrong == 0
			if d != "mariadb" {
				all.AddAll(r)
			}
		}
		passed = all.Print(w, "applications", 0, o.refused[source.name]) && passed
	}
	return passed, nil
}

// refusals judges the INSERTs of applications in one dialect, with one source.
func refusals(w io.Writer, o *options, dialectName, source, policy string, statements []corpus.Statement) (r *report.Refusals, err error) {
	court, err := trial.New(dialectName, policy)
	if err != nil {
		return nil, err
	}
	defer closing(court, &err)
	r = &report.Refusals{Source: source}
	for _, s := range statements {
		v := court.Try(s.SQL)
		r.Add(s.ID, v)
		if v.Wrong != "" {
			_, _ = fmt.Fprintf(w, "  wrong: %s %s\n", s.ID, v.Wrong)
		}
		words := court.TryWords(s.SQL)
		r.AddWords(words)
		for _, text := range words.Wrong {
			_, _ = fmt.Fprintf(w, "  filled with an unknown word: %s %s\n", s.ID, text)
		}
		if s.ID == o.show {
			_, _ = fmt.Fprintf(w, "%s\n%s\n\n%s\n\n%+v\n\n", s.ID, s.SQL, court.Answer(s.SQL), v)
		}
	}
	return r, nil
}

// measure measures the statements in one dialect, with either kind of key.
func measure(w io.Writer, o *options, dialectName string, statements []corpus.Statement) error {
	for _, integers := range []bool{false, true} {
		title := dialectName
		switch {
		case integers:
			title += ", integer keys"
		case o.integers:
			continue
		}
		watch, err := speed.New(dialectName, trial.Column, integers)
		if err != nil {
			return err
		}
		if err := speed.Print(w, title, timed(watch, statements), o.examples); err != nil {
			return err
		}
	}
	return nil
}

// again is how many more times a text that took longer than allowed is measured, since
// other programs on the machine may have slowed the measurement.
const again = 5

// timed measures the statements that are not passed.
func timed(watch *speed.Stopwatch, statements []corpus.Statement) []speed.Sample {
	var samples []speed.Sample
	var texts []string
	for _, s := range statements {
		if sample, ok := watch.Measure(s.ID, s.SQL); ok {
			samples, texts = append(samples, sample), append(texts, s.SQL)
		}
	}
	for range again {
		for i := range samples {
			if s := &samples[i]; s.Above() {
				sample, _ := watch.Measure(s.ID, texts[i])
				s.Best = min(s.Best, sample.Best)
			}
		}
	}
	return samples
}

// judge judges the statements in one dialect.
func judge(w io.Writer, o *options, dialectName string, statements []corpus.Statement) (r *report.Report, err error) {
	policy := trial.UUIDs
	if o.integers {
		policy = trial.Integers
	}
	court, err := trial.New(dialectName, policy)
	if err != nil {
		return nil, err
	}
	defer closing(court, &err)
	integers, err := trial.New(dialectName, trial.Integers)
	if err != nil {
		return nil, err
	}
	defer closing(integers, &err)
	r = report.New(dialectName)
	for _, s := range statements {
		v := court.Try(s.SQL)
		kind := string(v.Kind)
		if o.kinds == "corpus" {
			kind = s.Kind
		}
		r.Add(s.ID, kind, v)
		r.AddWords(s.ID, court.TryWords(s.SQL))
		r.AddWords(s.ID, integers.TryWords(s.SQL))
		if v.Kind == tree.KindQuery && o.kinds != "corpus" {
			// Judge it with integer keys too: only the engine can number the rows of a
			// query, and it numbers them by integers.
			v = integers.Try(s.SQL)
			r.Add(s.ID, report.IntegerQuery, v)
		}
		if s.ID == o.show || o.list == kind+"/"+v.Action {
			_, _ = fmt.Fprintf(w, "%s\n%s\n\n%s\n\n%+v\n\n", s.ID, s.SQL, court.Answer(s.SQL), v)
		}
	}
	return r, nil
}

// closing closes a court, which judges answers. If *err is nil, it sets *err to the error
// of Close.
func closing(c *trial.Court, err *error) {
	if closeErr := c.Close(); *err == nil {
		*err = closeErr
	}
}
