package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
)

func newDemo() *cobra.Command {
	var rows int
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run INSERTs through keyfill on SQLite, and show what happens",
		Long: `Runs the INSERTs of an application that knows nothing of keys through keyfill, on
an SQLite that is part of this program, and shows what the application wrote, what
reached the driver, and what the table then holds. Then it stores the same rows
under an INTEGER PRIMARY KEY, under random UUIDs and under keys of keyfill, and
prints the pages of 4,096 bytes that SQLite wrote, the size of the file in MB
(1,000,000 bytes), and the time. All is in a temporary folder, which is removed.`,
		Example: `  keyfill demo --rows 20000`,
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if rows < 1 {
				return usagef("--rows %d: at least one row", rows)
			}
			// The folder is removed after an interrupt too.
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return demonstrate(ctx, bufio.NewWriter(cmd.OutOrStdout()), newProgress(cmd.ErrOrStderr(), rows*len(contenders)), rows)
		},
	}
	cmd.Flags().IntVar(&rows, "rows", 200_000, "rows that the comparison stores under each kind of key")
	return cmd
}

// demonstrate runs the whole demo in a temporary folder. p shows how far the comparison
// has come.
func demonstrate(ctx context.Context, w *bufio.Writer, p *progress, rows int) (err error) {
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

// showApplication prints the setting, then each statement as it is executed.
func showApplication(ctx context.Context, w *bufio.Writer, app *application) error {
	title(w, "What keyfill does to INSERTs")
	fmt.Fprint(w, "The tables:\n\n", indent(schema), "\n")
	_, policy, _ := strings.Cut(demoPolicy, "\n") // without the line for editors
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
