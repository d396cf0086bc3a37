// Command keyfill shows what the keyfill driver does, without an application
// and without a database server.
//
//	keyfill demo                 INSERTs through keyfill, on SQLite in a temporary folder
//	keyfill explain              what keyfill does with a statement, or with a million of them
//	keyfill init                 a first policy for the tables of a database
//	keyfill check                what does not fit between a policy and a database
//	keyfill vet [PACKAGES]       what keyfill does with the INSERTs in Go source and .sql files
//	keyfill gen [KIND]           new keys
//	keyfill inspect KEY...       what a key is and when it was made
//	keyfill ddl                  the statements that create the tables of the store
//	keyfill plan KIND            the steps that bring keyfill into a table in use, and out of it
//	keyfill audit                numbers of a sequence that are missing, or stored twice
//	keyfill period               the periods of numbers: list, close, open again
//	keyfill takeover             the server that alone writes the rows of states
//	keyfill bench                which key is fastest on a database
//	keyfill conformance          what the documentation claims, tried on a server
//	keyfill backfill             keys for the rows of a table that have none
//	keyfill version              the version of this program
//
// From a checkout, "go run ./cmd/keyfill demo" is the quickest look. Further:
//
//	keyfill explain --config keyfill.yaml --dialect mysql 'INSERT INTO orders (total) VALUES (?)'
//	keyfill explain --config keyfill.yaml --dialect postgres --json <statements.jsonl >explained.jsonl
//	keyfill gen uuidv7 -n 3 --layout binary
//	keyfill inspect 0137aa88-0c46-7ed5-8012-2e27653a9d13
//
// "keyfill help explain" and so on describe formats and units.
//
// Errors go to standard error. The exit code is 0, 1 after an error, or 2 when
// the command line is not understood, or what it names cannot be read.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/internal/anchor"
)

// keyfill has many commands, each with flags and a help text. This program uses cobra
// because package flag knows neither commands nor their help texts.

func main() {
	// If the reader of the output leaves early, writing fails instead of ending the
	// process, so that the demo can still remove its temporary folder.
	signal.Ignore(syscall.SIGPIPE)
	os.Exit(run(context.Background(), os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run runs one command line, without the program's name, and returns the exit
// code.
func run(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	root := newRoot()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	cmd, err := root.ExecuteContextC(ctx)
	var misused *usage.Error
	var coded *codeError
	name := terminal.ColoursOf(errOut).Paint(terminal.Red, "keyfill:")
	switch {
	case err == nil:
		return 0
	case errors.Is(err, syscall.EPIPE):
		return exitError // the reader of the output has closed it
	case errors.As(err, &misused):
		fmt.Fprintf(errOut, "%s %v\nSee \"%s --help\".\n", name, err, cmd.CommandPath())
		return exitUsage
	}
	// Errors of package keyfill begin with the program's name already, which anchored
	// removes.
	fmt.Fprintf(errOut, "%s %s\n", name, anchored(err))
	if errors.As(err, &coded) {
		return coded.code
	}
	return exitError
}

// anchored returns the text of an error, which ends with the section of docs/errors.md
// about it.
func anchored(err error) string {
	text := strings.TrimPrefix(err.Error(), "keyfill: ")
	if anchor.Marked(text) != "" || errors.Is(err, errFound) || errors.Is(err, errVet) {
		return text
	}
	return anchor.Mark(text, cmp.Or(anchor.Of(err), "command"))
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:               "keyfill",
		Short:             "Primary keys made on the client, for any database/sql driver",
		Long:              "Fills in primary keys of INSERTs. Programs use github.com/keyfill/keyfill.",
		Example:           "  keyfill demo",
		Version:           versionText(),
		Args:              arguments(cobra.NoArgs),
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true}, // newCompletion adds this command, with a shorter help
		SilenceErrors:     true,
		SilenceUsage:      true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage.Wrap(err) })
	root.SetVersionTemplate("{{.Version}}\n")
	root.AddCommand(newDemo(), newInit(), newExplain(), newCheck(), newGen(), newInspect(), newDDL(), newPlan(), newBackfill(), newAudit(), newPeriod(), newTakeover(), newBench(), newConformance(),
		newVet(), newCompletion(), newVersion())
	root.SetHelpCommand(newHelp())
	setHelp(root)
	return root
}
