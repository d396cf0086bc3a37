// Command release makes the files of a release of the command keyfill, and the tags of
// the modules:
//
//	release check                     do the modules of go.work fit one another?
//	release build -version v1.2.3     archives, lists of parts and checksums, in -out
//	release tag -version v1.2.3       the commit that is released, and its tags, here
//
// All of them work on the last commit of the repository in -root, never on files that are
// not committed.
//
// On the main branch the modules of go.work replace one another by folders, and no module
// with such lines can be installed by "go install …@version". A release has go.mod files
// of its own: they require the version and replace nothing. "build" makes them in a
// temporary folder, serves them as a module proxy does, and runs "go install" from there,
// so that an archive holds the very bytes that users get by
//
//	CGO_ENABLED=0 go install -trimpath github.com/keyfill/keyfill/cmd/keyfill@v1.2.3
//
// with the same Go. "tag" commits them beside the main branch.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/mod/semver"
)

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// errUsage is returned when the command line is not understood.
var errUsage = errors.New("give one of check, build and tag, and its flags: release build -version v1.2.3")

// run runs one command line.
func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet("release "+args[0], flag.ContinueOnError)
	root := flags.String("root", ".", "the `folder` of the repository")
	version := flags.String("version", "", "the `version` that is released, such as v1.2.3")
	folder := flags.String("out", "dist", "the `folder` for the files of the release")
	names := flags.String("platforms", strings.Join(platforms, ","), "`platforms` to build for")
	once := flags.Bool("once", false, "do not build a second time and compare")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return errUsage
	}
	if args[0] == "check" {
		return checkFolder(*root, out)
	}
	if semver.Canonical(*version) != *version || *version == "" {
		return fmt.Errorf("%q is no version: write one such as -version v1.2.3", *version)
	}
	if major := semver.Major(*version); major != "v0" && major != "v1" {
		return fmt.Errorf("modules of %s have /%[1]s at the end of their paths: rename them first", major)
	}
	source, err := open(ctx, *root)
	if err != nil {
		return err
	}
	switch args[0] {
	case "build":
		b := builder{source: source, version: *version, platforms: strings.Split(*names, ","), log: out}
		return b.release(ctx, *folder, !*once)
	case "tag":
		return tag(ctx, source, *version, out)
	}
	return errUsage
}

// checkFolder checks the modules of a folder and prints what it has compared.
func checkFolder(root string, out io.Writer) error {
	ws, err := readWorkspace(os.DirFS(root))
	if err != nil {
		return err
	}
	if err := ws.check(); err != nil {
		return err
	}
	fmt.Fprintf(out, "%d modules fit one another\n", len(ws.modules))
	return nil
}
