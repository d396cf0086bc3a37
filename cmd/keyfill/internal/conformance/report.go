package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"
)

// Verdict is the result of a claim.
type Verdict string

// The results of claims.
const (
	Shown    Verdict = "shown"
	Refused  Verdict = "refused"
	NotTried Verdict = "not tried"
)

// Report is the result of a run.
type Report struct {
	Keyfill       string    `json:"keyfill"`          // the version of the command
	Commit        string    `json:"commit,omitempty"` // empty if the program was built outside of a checkout
	Go            string    `json:"go"`
	Platform      string    `json:"platform"` // such as linux/amd64
	Engine        string    `json:"engine"`   // the dialect that keyfill speaks to the server
	Server        string    `json:"server"`   // the version, in the server's own words
	Driver        string    `json:"driver"`
	DriverVersion string    `json:"driver_version,omitempty"` // the module and its version
	By            string    `json:"by,omitempty"`             // the name that --by gives
	Time          time.Time `json:"time"`                     // when the run began
	Seconds       float64   `json:"seconds"`
	Flags         Flags     `json:"flags"`
	Claims        []Claim   `json:"claims"`
}

// Flags are the settings of a run that change what is shown.
type Flags struct {
	Rows   int  `json:"rows"`
	Rate   int  `json:"rate"`
	Shared bool `json:"shared"`
}

// Claim is a claim with its result.
type Claim struct {
	Name   string  `json:"claim"`
	Says   string  `json:"says"`
	Result Verdict `json:"result"`
	Rows   int64   `json:"rows,omitempty"` // how many stored rows were compared
	Seen   string  `json:"seen,omitempty"` // what was seen instead, or why it was not tried
}

// Count returns how many claims have a result.
func (r *Report) Count(v Verdict) (n int) {
	for _, c := range r.Claims {
		if c.Result == v {
			n++
		}
	}
	return n
}

// WriteJSON writes the report as one indented object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(r)
}

// WriteText writes the report as a table.
func (r *Report) WriteText(w io.Writer) error {
	fmt.Fprintf(w, "%s (%s), driver %s\n\n", r.Engine, r.Server, r.Driver)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, c := range r.Claims {
		rows := ""
		if c.Rows > 0 {
			rows = fmt.Sprintf("%d rows", c.Rows)
		}
		if c.Seen != "" {
			rows = c.Seen
		}
		fmt.Fprintf(t, "%s\t%s\t%s\n", c.Result, c.Name, rows)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\n%d shown, %d refused, %d not tried, in %.0f s\n",
		r.Count(Shown), r.Count(Refused), r.Count(NotTried), r.Seconds)
	return err
}
