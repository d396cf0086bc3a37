package main

import (
	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/keyvalues"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
)

// Exit codes.
const (
	exitError = 1
	exitUsage = 2
)

// exitKey is the annotation of a command whose exit codes are not the common ones.
const exitKey = "exit"

// codeError is an error with an exit code of its own.
type codeError struct {
	code int
	error
}

func (e *codeError) Unwrap() error { return e.error }

// arguments turns cobra's errors about the number of arguments into a usage.Error.
func arguments(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := check(cmd, args); err != nil {
			return usage.Wrap(err)
		}
		return nil
	}
}

// completes makes the shell offer words when the user completes the value of a flag.
func completes(cmd *cobra.Command, flag string, words ...string) {
	// This never fails, since the command has this flag, and no completion was registered
	// for it before.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// addDatabase adds the flags that say which database a command opens.
func addDatabase(cmd *cobra.Command, db *database.Address) {
	addDatabaseAs(cmd, db, "sqlite, mysql, pgx, postgres, sqlserver or oracle")
	completes(cmd, "driver", database.Drivers()...)
}

// addDatabaseAs is addDatabase with other words about --driver, and without its completion.
func addDatabaseAs(cmd *cobra.Command, db *database.Address, drivers string) {
	cmd.Flags().StringVar(&db.Driver, "driver", "", drivers)
	cmd.Flags().StringVar(&db.DSN, "dsn", "", "what the driver opens; others may see it")
	cmd.Flags().StringVar(&db.Variable, "dsn-env", "", "the environment `variable` that holds the DSN")
}

// addTableKeys adds the flags that name a key column of a policy.
func addTableKeys(cmd *cobra.Command, k *keyvalues.TableKeys) {
	cmd.Flags().StringVar(&k.Config, "config", "", "the policy `file` of the table")
	cmd.Flags().StringVar(&k.Dialect, "dialect", "", "the `engine`, where the policy names none")
	cmd.Flags().StringVar(&k.Column, "column", "", "the key `column`, where the table has several")
}
