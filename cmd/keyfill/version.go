package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program",
		Long: `Prints the version of the module, that of Go, and the platform, as in
"keyfill v1.2.3 go1.26.8 linux/amd64". Built from a checkout, the version is
"(devel)" or one made from the commit.`,
		Args: arguments(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			version := ""
			if info, ok := debug.ReadBuildInfo(); ok {
				version = info.Main.Version
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "keyfill %s %s %s/%s\n",
				cmp.Or(version, "(devel)"), runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
