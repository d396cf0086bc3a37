package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/firstpolicy"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/draft"
)

// initFlags are the flags of keyfill init.
type initFlags struct {
	from  firstpolicy.Input
	code  []string
	file  string
	force bool
}

func newInit() *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:     "init (--driver DRIVER (--dsn DSN | --dsn-env VARIABLE) | --schema FILE --dialect DIALECT)",
		Short:   "Write a first policy for the tables of a database",
		Long:    initHelp,
		Example: "  keyfill init --driver sqlite --dsn shop.db",
		Args:    arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.mayWrite(); err != nil {
				return err
			}
			first, err := f.from.Draft(cmd.Context())
			if err == nil && len(f.code) > 0 {
				err = firstpolicy.TellCode(cmd.Context(), first, f.code)
			}
			if err != nil {
				return err
			}
			return f.write(cmd.OutOrStdout(), first)
		},
	}
	flags := cmd.Flags()
	addDatabase(cmd, &f.from.Database)
	flags.StringArrayVar(&f.from.Scripts, "schema", nil, "read CREATE TABLE statements from the `file`; may be repeated")
	flags.StringVar(&f.from.Dialect, "dialect", "", "of --schema: "+dialect.Names())
	completes(cmd, "dialect", strings.Split(dialect.Names(), ", ")...)
	flags.StringSliceVar(&f.from.Schemas, "also", nil, "tables of these `schemas` too")
	flags.StringSliceVar(&f.code, "code", nil, "show what the INSERTs in these Go `packages` say")
	flags.StringVarP(&f.file, "out", "o", "", "write the policy into the `file`")
	flags.BoolVar(&f.force, "force", false, "write over a file that is there")
	return cmd
}

const initHelp = `Writes a first policy for the tables of a database, or of a schema in SQL: for each
key the source that fits its column, with comments that say why. Keys that the engine
makes are left to it, and listed with the line to write. The command only reads; what
keyfill check finds becomes comments. docs/command.md#keyfill-init has the rules.`

// mayWrite returns an error if the file exists and --force is not given.
func (f *initFlags) mayWrite() error {
	if f.file == "" || f.force {
		return nil
	}
	_, err := os.Stat(f.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	}
	return f.errThere()
}

func (f *initFlags) errThere() error {
	return fmt.Errorf("the file %s is there already: say --force to write over it, or name another file", f.file)
}

// write prints the policy, or writes it into the file and prints its summary.
func (f *initFlags) write(out io.Writer, first *draft.Draft) error {
	if f.file == "" {
		_, err := io.WriteString(out, first.Text())
		return err
	}
	how := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if f.force {
		how = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	file, err := os.OpenFile(f.file, how, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return f.errThere()
	}
	if err != nil {
		return err
	}
	_, err = io.WriteString(file, first.Text())
	if err = errors.Join(err, file.Close()); err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s: %d tables filled, %d left to the engine, %d to be decided\n", f.file, first.Filled(), first.Numbered(), first.Undecided())
	return err
}
