package main

import (
	"bufio"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// genBatch is how many keys are drawn at a time: enough that drawing costs
// little, few enough that a million need no memory.
const genBatch = 1000

func newGen() *cobra.Command {
	var (
		n             int
		layout, epoch string
	)
	cmd := &cobra.Command{
		Use:   "gen [KIND]",
		Short: "Make keys",
		Long: `Prints new keys, one a line, as the driver would send them.
  uuidv7  UUIDs of RFC 9562, by time; each greater than the one before
  uuidv4  UUIDs of 122 random bits
  ulid    48 bits of time and 80 random bits; each greater than the one before
  comb    the time in 48 bits, and 80 random bits
Layouts: string, 36 characters, of a ulid 26; binary, 32 hexadecimal digits;
sequential_at_end, the text of a uniqueidentifier of SQL Server.`,
		Example:   `  keyfill gen uuidv7 -n 3 --layout binary`,
		ValidArgs: []string{"uuidv7", "uuidv4", "ulid", "comb"},
		Args:      arguments(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			spec := policy.Source{Kind: "uuidv7", Epoch: keysource.Epoch(epoch)}
			if len(args) > 0 {
				spec.Kind = args[0]
			}
			if n < 1 {
				return usagef("-n %d: at least one key", n)
			}
			l, err := dialect.ParseLayout(layout)
			if err != nil {
				return &usageError{err}
			}
			source, err := spec.New(keysource.Env{})
			if err != nil {
				return &usageError{err}
			}
			return generate(cmd, source, keysource.Request{N: n, Layout: l})
		},
	}
	flags := cmd.Flags()
	flags.IntVarP(&n, "number", "n", 1, "how many keys")
	flags.StringVar(&layout, "layout", string(dialect.SequentialAsString), "string, binary or sequential_at_end")
	flags.StringVar(&epoch, "epoch", "", "of a comb: dotnet (since 0001-01-01) or unix (1970)")
	completes(cmd, "layout", "string", "binary", "sequential_at_end")
	completes(cmd, "epoch", "dotnet", "unix")
	return cmd
}

// generate prints the keys of the request.
func generate(cmd *cobra.Command, source keysource.Source, all keysource.Request) error {
	w := bufio.NewWriter(cmd.OutOrStdout())
	for left := all.N; left > 0; {
		r := all
		r.N = min(left, genBatch)
		keys, err := source.Next(cmd.Context(), r)
		if err != nil {
			return err
		}
		for _, key := range keys {
			if err := printKey(w, key); err != nil {
				return err
			}
		}
		left -= r.N
	}
	return w.Flush()
}

func printKey(w io.Writer, key any) error {
	if b, ok := key.([]byte); ok {
		_, err := fmt.Fprintf(w, "%x\n", b)
		return err
	}
	_, err := fmt.Fprintln(w, key)
	return err
}
