// Package demo runs INSERTs through keyfill on SQLite in a temporary folder, shows what
// happens to them, and compares what kinds of keys cost, for keyfill demo.
package demo

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
)

// Run runs the whole demo in a temporary folder. The comparison stores the given number of
// rows under each kind of key, and shows its progress on errOut.
func Run(ctx context.Context, out, errOut io.Writer, rows int) (err error) {
	w, p := bufio.NewWriter(out), terminal.NewProgress(errOut, rows*len(contenders))
	folder, err := os.MkdirTemp("", "keyfill-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	app, err := openApplication(ctx, filepath.Join(folder, "application.db"))
	if err != nil {
		return err
	}
	err = showApplication(ctx, w, app)
	if err := errors.Join(err, app.close()); err != nil {
		return err
	}
	return compare(ctx, w, p, folder, rows)
}

// showApplication prints the tables and the policy, then each statement as it is executed.
func showApplication(ctx context.Context, w *bufio.Writer, app *application) error {
	title(w, "What keyfill does to INSERTs")
	fmt.Fprint(w, "The tables:\n\n", indent(schema), "\n")
	_, policy, _ := strings.Cut(demoPolicy, "\n") // print the policy without its first line, a comment for editors
	fmt.Fprint(w, "The policy, which says which columns are keys and what makes them:\n\n", indent(policy), "\n")
	fmt.Fprint(w, `"Written" is what the application passes to database/sql: SQL and arguments.
"Sent" is what reached the SQLite driver, noted below keyfill. "Stored" is what
a connection without keyfill reads from the table afterwards.
`)
	for i, s := range statements {
		done, err := app.perform(ctx, s)
		if err != nil {
			return err
		}
		fmt.Fprintln(w)
		printPerformed(w, i+1, done)
		if err := w.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func title(w *bufio.Writer, text string) {
	fmt.Fprintf(w, "%s\n%s\n\n", text, strings.Repeat("=", len(text)))
}

// indent returns text with each line indented.
func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n  ") + "\n"
}
