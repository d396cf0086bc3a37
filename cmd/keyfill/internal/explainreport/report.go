// Package explainreport explains statements for keyfill explain: one statement, the
// statements of files of SQL and of logs, or requests in lines of JSON. It prints each
// statement with its explanation, or counts the statements by table, outcome and reason.
package explainreport

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/internal/explain"
	"github.com/keyfill/keyfill/internal/rewrite/plans"
)

// Options select the statements to explain, and the form of the output.
type Options struct {
	Arguments []string // one statement; empty if statements are read from Files
	Files     []string // "-" is standard input, which is also read if Files and Arguments are empty
	Format    string   // the format of the files; if it is empty, it is detected
	JSON      bool
	Literals  bool  // whether the strings and numbers of a log are shown; otherwise they are masked
	Summary   *bool // whether to print counts instead of the statements; if nil, counts are printed for a log only
	In        io.Reader
	Out       io.Writer
	ErrOut    io.Writer // the output for the progress bar
}

// Answer answers the requests of in, which are lines of JSON, and counts them by outcome.
func (p *Policy) Answer(in io.Reader, out io.Writer) (*Summary, error) {
	answered := newSummary(p)
	return answered, answerLines(answered.by(p.explainer), in, out)
}

// Explain explains the statements of an argument, of files, or of standard input, and
// returns the counts.
func (p *Policy) Explain(o Options) (*Summary, error) {
	in := &input{files: o.Files, format: o.Format, dialect: p.dialect, stdin: o.In}
	if len(in.files) == 0 {
		in.files = []string{standardInput}
	}
	statements, total := in.statements(), int64(0)
	if len(o.Arguments) > 0 {
		statements = argumentInput(o.Arguments[0])
	} else {
		total = in.size()
	}
	bar := terminal.NewProgress(o.ErrOut, int(total))
	r := &explanations{
		policy: p, asJSON: o.JSON, literals: o.Literals,
		out: bufio.NewWriterSize(o.Out, lineBuffer), colours: terminal.ColoursOf(o.Out),
		summary: newSummary(p), alone: len(o.Arguments) > 0,
	}
	err := r.all(statements, o.Summary, func(n int) {
		if total > 0 && bar != nil {
			bar.ShowAs(int(in.read.Load()), fmt.Sprintf("%d statements", n))
		}
	})
	bar.Clear()
	if err == nil {
		err = r.finish(len(o.Files) > 0)
	}
	if err = errors.Join(err, r.out.Flush()); err != nil {
		return nil, err
	}
	return r.summary, nil
}

// explanations explains the statements of one run, and prints or counts them.
type explanations struct {
	policy   *Policy
	asJSON   bool
	literals bool
	out      *bufio.Writer
	colours  terminal.Colours
	summary  *Summary
	alone    bool // whether there is one statement, given as an argument

	counts bool // whether the counts are printed instead of the statements
	n      int
	first  inputStatement // the first statement, kept until a second one is read
	became explain.Explanation
	answer []byte
}

// all explains all statements, and prints or counts them as summary says. If summary is
// nil, it counts the statements of a log and prints the statements of other inputs; in
// JSON, it prints all.
func (r *explanations) all(statements iter.Seq2[inputStatement, error], summary *bool, progress func(n int)) error {
	for one, err := range statements {
		if err != nil {
			return err
		}
		if r.n++; r.n == 1 {
			r.counts = one.log && !r.asJSON
			if summary != nil {
				r.counts = *summary
			}
		}
		ex, err := r.policy.explainer.Explain(one.text)
		if err != nil {
			return fmt.Errorf("%s: %w", one.where(), err)
		}
		r.summary.add(&one, &ex)
		if !r.counts {
			if err := r.show(&one, &ex); err != nil {
				return err
			}
		}
		if r.n%progressEvery == 0 {
			progress(r.n)
		}
	}
	return nil
}

// progressEvery is the number of statements after which the progress is shown again.
const progressEvery = 512

// show prints a statement. In the text form it holds back the first statement until a
// second one is read, since a single statement is always printed, and of several only those
// that concern the policy.
func (r *explanations) show(one *inputStatement, ex *explain.Explanation) error {
	if r.asJSON {
		r.answer = appendFileAnswer(r.answer[:0], one, r.shown(one, ex), r.summary.hint(one.text, ex))
		_, err := r.out.Write(r.answer)
		return err
	}
	if r.n == 1 {
		r.first, r.became = *one, *ex
		return nil
	}
	if r.n == 2 {
		r.block(&r.first, &r.became)
	}
	r.block(one, ex)
	return nil
}

// shown returns an explanation without the literals of a log, unless they are asked for.
func (r *explanations) shown(one *inputStatement, ex *explain.Explanation) *explain.Explanation {
	if !one.log || r.literals {
		return ex
	}
	masked := *ex
	masked.SQL = maskedText(r.policy.dialect, ex.SQL)
	return &masked
}

// block prints one of several statements below its file and line, unless the policy does
// not concern it.
func (r *explanations) block(one *inputStatement, ex *explain.Explanation) {
	hint := r.summary.hint(one.text, ex)
	if ex.Action == plans.Pass.String() && hint == "" {
		return
	}
	fmt.Fprintf(r.out, "%s\n", one.where())
	r.print(one, ex, hint)
	fmt.Fprintln(r.out)
}

// print prints a statement with its explanation.
func (r *explanations) print(one *inputStatement, ex *explain.Explanation, hint string) {
	at := one
	if r.alone || r.n == 1 && one.file == standardInput {
		at = nil
	}
	printer{r.out, r.colours, r.policy.remark}.print(one.text, at, r.shown(one, ex), hint)
}

// finish prints the statement if it was the only one, otherwise the counts.
func (r *explanations) finish(named bool) error {
	switch {
	case r.n == 0 && !named:
		return usage.Errorf("there is no statement: give one as an argument, or on standard input")
	case r.counts && r.asJSON:
		return r.summary.printJSON(r.out, r.literals)
	case r.counts:
		return r.summary.print(r.out, r.colours, r.literals)
	case r.asJSON:
		return nil
	case r.n == 1:
		r.print(&r.first, &r.became, r.summary.hint(r.first.text, &r.became))
		return nil
	}
	_, err := io.WriteString(r.out, r.summary.line()+"\n")
	return err
}
