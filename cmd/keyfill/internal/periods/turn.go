package periods

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/store/scope"
)

// List prints a line for each row of a period, in the order of their names.
func (n *Numbering) List(ctx context.Context, out io.Writer) error {
	return n.each(ctx, out, func(w *bufio.Writer, r scope.PeriodRow) error {
		if n.givesNone(r) {
			return n.printTurned(w, r)
		}
		_, err := fmt.Fprintf(w, "%s: %s, next number %d, %s\n", shownName(r.Name), stateOf(r), r.Next, templateOf(r))
		return err
	})
}

// ListJSON prints an object for each row of a period.
func (n *Numbering) ListJSON(ctx context.Context, out io.Writer) error {
	return n.each(ctx, out, func(w *bufio.Writer, r scope.PeriodRow) error {
		e := json.NewEncoder(w)
		e.SetEscapeHTML(false)
		return e.Encode(struct {
			Name     string `json:"name"`
			Period   string `json:"period"`
			Parent   string `json:"parent"`
			Next     int64  `json:"next"`
			Closed   bool   `json:"closed"`
			Template string `json:"template"`
		}{r.Name, r.Period.Name, r.Parent, r.Next, r.Closed, r.Template})
	})
}

// Close closes a period, and prints its rows. A period that has not ended by the server's
// clock is an error, unless early is true.
func (n *Numbering) Close(ctx context.Context, out io.Writer, p calendar.Period, early bool) error {
	if !early {
		now, err := scope.Clock(ctx, n.rows)
		if err != nil {
			return err
		}
		if now.Before(p.End) {
			return fmt.Errorf("the period %s ends at %s, and the server's clock shows %s: wait, or say --early", p.Name, shownTime(p.End), shownTime(now))
		}
	}
	closed, err := n.rows.ClosePeriod(ctx, p)
	if err != nil {
		return err
	}
	return n.printPeriod(ctx, out, p, terminal.Count(closed, "row")+" closed")
}

// Reopen opens a period that was closed, and prints its rows.
func (n *Numbering) Reopen(ctx context.Context, out io.Writer, p calendar.Period) error {
	opened, err := n.rows.ReopenPeriod(ctx, p)
	if err != nil {
		return err
	}
	return n.printPeriod(ctx, out, p, terminal.Count(opened, "row")+" opened again")
}

// printPeriod prints the rows of a period, and then the summary.
func (n *Numbering) printPeriod(ctx context.Context, out io.Writer, p calendar.Period, summary string) error {
	err := n.each(ctx, out, func(w *bufio.Writer, r scope.PeriodRow) error {
		if r.Period.Name != p.Name {
			return nil
		}
		return n.printTurned(w, r)
	})
	if err == nil {
		_, err = fmt.Fprintln(out, summary)
	}
	return err
}

// printTurned prints a row of a period that was closed or opened.
func (n *Numbering) printTurned(w *bufio.Writer, r scope.PeriodRow) error {
	last := "last number " + strconv.FormatInt(r.Next-1, 10)
	switch {
	case n.givesNone(r):
		last = "for parents without a row"
	case r.Template == "":
		last = "no number drawn"
	}
	_, err := fmt.Fprintf(w, "%s: %s, %s\n", shownName(r.Name), stateOf(r), last)
	return err
}

// each calls f for each row of a period.
func (n *Numbering) each(ctx context.Context, out io.Writer, f func(*bufio.Writer, scope.PeriodRow) error) error {
	w := bufio.NewWriter(out)
	if err := n.rows.EachPeriod(ctx, func(r scope.PeriodRow) error { return f(w, r) }); err != nil {
		return err
	}
	return w.Flush()
}

// givesNone reports whether a row gives no number, and only says that a period is closed to
// parents that have no row yet.
func (n *Numbering) givesNone(r scope.PeriodRow) bool {
	return r.Parent == "" && len(n.scope.Within) > 0
}

func stateOf(r scope.PeriodRow) string {
	if r.Closed {
		return "closed"
	}
	return "open"
}

func templateOf(r scope.PeriodRow) string {
	if r.Template == "" {
		return "no number drawn"
	}
	return "template " + strconv.Quote(r.Template)
}

// shownName returns the name of a row as it is shown to people. It is quoted if it contains
// a line end or the like, which the values of a scope's columns may bring.
func shownName(name string) string {
	if strings.ContainsFunc(name, func(c rune) bool { return !strconv.IsPrint(c) }) {
		return strconv.Quote(name)
	}
	return name
}

func shownTime(t time.Time) string { return t.UTC().Format(time.RFC3339) }
