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
		Long: `Prints the version of the module, the version of Go, and the platform, as in
"keyfill v1.2.3 go1.26.8 linux/amd64". Built from a checkout, the version of the
module is "(devel)" or one made from the commit.`,
		Args:    arguments(cobra.NoArgs),
		Example: "  keyfill version",
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), versionText())
			return err
		},
	}
}

// versionText returns the version of this program with its platform.
func versionText() string {
	return fmt.Sprintf("keyfill %s %s %s/%s", moduleVersion(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
}

// moduleVersion returns the version of this program.
func moduleVersion() string {
	version := ""
	if info, ok := debug.ReadBuildInfo(); ok {
		version = info.Main.Version
	}
	return cmp.Or(version, "(devel)")
}
