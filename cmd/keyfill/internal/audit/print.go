package audit

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
)

// Printer prints findings as they come, and then the summary.
type Printer interface {
	Print(Finding) error
	End(Summary) error
}

// NewText returns a printer for people.
func NewText(out io.Writer) Printer { return &text{out, terminal.ColoursOf(out)} }

type text struct {
	out    io.Writer
	shades terminal.Colours
}

func (p *text) Print(f Finding) error {
	within := ""
	for i, name := range slices.Sorted(maps.Keys(f.Parent)) {
		within += []string{" within ", ", "}[min(i, 1)] + name + " " + shownValue(f.Parent[name])
	}
	if f.Period != "" {
		within += " in " + f.Period
	}
	severity := f.Severity
	if severity == severityError {
		severity = p.shades.Paint(terminal.Red, severity)
	}
	_, err := fmt.Fprintf(p.out, "%s: %s: %s%s: %s\n", severity, f.Rule, f.Column, within, f.Message)
	return err
}

// shownValue returns a value as it is shown to people. A text is quoted, since it may
// contain line ends and commas.
func shownValue(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case string:
		return strconv.Quote(v)
	}
	return fmt.Sprint(v)
}

func (p *text) End(s Summary) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s", s.Audited, terminal.Count(int(s.Rows), "row"))
	switch {
	case s.Rows > 0 && s.Numberings > 1:
		fmt.Fprintf(&b, " in %d numberings", s.Numberings)
	case s.Rows > 0:
		fmt.Fprintf(&b, " with numbers from %d to %d", s.First, s.Last)
	}
	if s.Known > 0 {
		fmt.Fprintf(&b, ", %s cancelled", terminal.Count(int(s.Known), "number"))
	}
	if s.Next > 0 {
		fmt.Fprintf(&b, "; the state %s goes on at %d", s.State, s.Next)
	}
	if s.Missing > 0 {
		fmt.Fprintf(&b, "; %s missing, as rollbacks, blocks and earlier numbers leave them", terminal.Count(int(s.Missing), "number"))
	}
	fmt.Fprintf(&b, "; %s\n", terminal.Count(int(s.Errors), "error"))
	_, err := io.WriteString(p.out, b.String())
	return err
}

// NewJSON returns a printer of JSON: a line for each finding, and then the summary.
func NewJSON(out io.Writer) Printer {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	return &lines{e}
}

type lines struct{ *json.Encoder }

func (p *lines) Print(f Finding) error { return p.Encode(f) }

func (p *lines) End(s Summary) error {
	return p.Encode(struct {
		Rule    string `json:"rule"`
		Column  string `json:"column"`
		State   string `json:"state"`
		Strict  bool   `json:"strict"`
		Rows    int64  `json:"rows"`
		First   int64  `json:"first"`
		Last    int64  `json:"last"`
		Next    int64  `json:"next"`
		Known   int64  `json:"cancelled"`
		Missing int64  `json:"missing"`
		Errors  int64  `json:"errors"`
		Series  int64  `json:"numberings,omitempty"`
	}{"summary", s.Audited, s.State, s.Strict, s.Rows, s.First, s.Last, s.Next, s.Known, s.Missing, s.Errors, s.Numberings})
}

// NewCSV returns a printer of CSV: a line with the names of columns, and a line for each
// finding.
func NewCSV(out io.Writer) Printer { return &sheet{csv.NewWriter(out), false} }

type sheet struct {
	*csv.Writer
	begun bool
}

func (p *sheet) Print(f Finding) error {
	if err := p.begin(); err != nil {
		return err
	}
	parent := ""
	if f.Parent != nil {
		written, err := json.Marshal(f.Parent)
		if err != nil {
			return err
		}
		parent = string(written)
	}
	defer p.Flush() // write each line at once, since the audit may fail before its end
	return p.Write([]string{f.Severity, f.Rule, f.Column, parent, f.Period, strconv.FormatInt(f.From, 10), strconv.FormatInt(f.To, 10), f.FromText, f.ToText, strconv.FormatInt(f.Rows, 10), f.Message})
}

func (p *sheet) begin() error {
	if p.begun {
		return nil
	}
	p.begun = true
	return p.Write([]string{"severity", "rule", "column", "parent", "period", "from", "to", "from_text", "to_text", "rows", "message"})
}

func (p *sheet) End(Summary) error {
	if err := p.begin(); err != nil {
		return err
	}
	p.Flush()
	return p.Error()
}
