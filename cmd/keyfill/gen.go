package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/keyvalues"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// genKinds are the kinds whose keys need neither a table nor a database.
var genKinds = []string{"uuidv7", "uuidv4", "ulid", "comb"}

func newGen() *cobra.Command {
	var (
		n                 int
		layout, epoch, at string
		prefix            string
		from              keyvalues.TableKeys
	)
	cmd := &cobra.Command{
		Use:   "gen [KIND | --config FILE TABLE]",
		Short: "Make keys",
		Long: `Prints new keys, one a line, as the driver would send them.
  uuidv7  UUIDs of RFC 9562, by time; each greater than the one before
  uuidv4  UUIDs of 122 random bits
  ulid    48 bits of time and 80 random bits; each greater than the one before
  comb    the time in 48 bits, and 80 random bits
With --config they are a table's; a source that counts needs --driver and --dsn,
and spends numbers. --at prints the least key of a time, for queries alone.`,
		Example:   `  keyfill gen uuidv7 -n 3 --layout binary`,
		ValidArgs: genKinds,
		Args:      arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			if n < 1 {
				return usage.Errorf("-n %d: at least one key", n)
			}
			if cmd.Flags().Changed("at") && (cmd.Flags().Changed("number") || !from.Database.IsEmpty()) {
				return usage.Errorf("--at prints one key, without a database: leave -n, --driver and --dsn out")
			}
			if cmd.Flags().Changed("config") {
				if cmd.Flags().Changed("layout") || cmd.Flags().Changed("epoch") || cmd.Flags().Changed("prefix") {
					return usage.Errorf("the policy says the layout, the epoch and the prefix: leave --layout, --epoch and --prefix out")
				}
				if len(args) == 0 {
					return usage.Errorf("--config needs a table of the policy: name it")
				}
				if at != "" {
					return from.PrintLeast(cmd.OutOrStdout(), args[0], at)
				}
				return from.Generate(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), args[0], n)
			}
			if from != (keyvalues.TableKeys{}) {
				return usage.Errorf("--column and the flags of a database go with --config: say it, with a table")
			}
			if prefix != "" && cmd.Flags().Changed("layout") {
				return usage.Errorf("keys with a prefix are text: leave --layout out")
			}
			spec := policy.Source{Kind: "uuidv7", Epoch: keysource.Epoch(epoch), Prefix: prefix}
			if len(args) > 0 {
				spec.Kind = args[0]
			}
			l, err := dialect.ParseLayout(layout)
			if err != nil {
				return usage.Wrap(err)
			}
			if at != "" && spec.Kind == policy.KindSnowflake {
				if !cmd.Flags().Changed("layout") {
					l = "" // an integer
				}
				return keyvalues.PrintLeast(cmd.OutOrStdout(), spec, l, at)
			}
			if !slices.Contains(genKinds, spec.Kind) {
				return usage.Errorf("%q is no kind that needs no table: take one of %s, or say --config and a table", spec.Kind, strings.Join(genKinds, ", "))
			}
			source, err := policy.NewSource(spec, keysource.Env{})
			if err != nil {
				return usage.Wrap(err)
			}
			if at != "" {
				return keyvalues.PrintLeast(cmd.OutOrStdout(), spec, l, at)
			}
			return keyvalues.Generate(cmd.Context(), cmd.OutOrStdout(), source, keysource.Request{N: n, Layout: l})
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&n, "number", "n", 1, "how many keys")
	flags.StringVar(&layout, "layout", string(dialect.SequentialAsString), "string, or binary, sequential_at_end, swapped")
	flags.Lookup("layout").DefValue = "" // the usage says it in one line
	flags.StringVar(&at, "at", "", "the `time`, or a day, as 2026-11-28T15:04:05Z")
	flags.StringVar(&epoch, "epoch", "", "of a comb: dotnet (since 0001-01-01) or unix (1970)")
	flags.StringVar(&prefix, "prefix", "", "of a uuidv7: cus makes ids such as cus_01h…")
	addTableKeys(cmd, &from)
	addDatabaseAs(cmd, &from.Database, strings.Join(database.Drivers(), ", "))
	completes(cmd, "driver", database.Drivers()...)
	completes(cmd, "layout", "string", "binary", "sequential_at_end", "swapped")
	completes(cmd, "epoch", "dotnet", "unix")
	return cmd
}
