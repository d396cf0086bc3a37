package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/internal/nearest"
)

// helpWidth is how many characters a line of help has at most, and helpHeight how many
// lines the help of a command has: the screen of a terminal.
const (
	helpWidth  = 80
	helpHeight = 24
)

// setHelp sets how a command and its subcommands print their help: each text ends with an
// example that works when it is pasted.
func setHelp(cmd *cobra.Command) {
	cmd.InitDefaultHelpFlag()
	cmd.Flags().Lookup("help").Hidden = true // a user who reads the help knows this flag
	if cmd.Version != "" {
		cmd.Flags().Bool("version", false, "print the version of this program")
		cmd.Flags().Lookup("version").Hidden = true // the command of that name is listed
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_, _ = fmt.Fprint(cmd.OutOrStdout(), helpText(cmd)) // the write fails if the reader of the output has gone, as with a closed pipe
	})
	for _, one := range cmd.Commands() {
		setHelp(one)
	}
}

const commonExit = "Exit code: 0 done, 1 an error, 2 the command line is not understood."

func helpText(cmd *cobra.Command) string {
	var b strings.Builder
	for _, line := range wrapText(cmp.Or(cmd.Long, cmd.Short)) {
		fmt.Fprintln(&b, line)
	}
	fmt.Fprintln(&b)
	use := cmd.CommandPath() + strings.TrimPrefix(cmd.Use, cmd.Name())
	if cmd.HasAvailableSubCommands() {
		use += " COMMAND"
	}
	for i, line := range terminal.Wrap(use, helpWidth-len("Usage: ")) {
		fmt.Fprintf(&b, "%-7s%s\n", map[bool]string{true: "Usage:"}[i == 0], line)
	}
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\n")
		for _, one := range cmd.Commands() {
			if !one.Hidden {
				fmt.Fprintf(&b, "  %-12s%s\n", one.Name(), one.Short)
			}
		}
	}
	if flags := cmd.LocalFlags(); flags.HasAvailableFlags() {
		if cmd.HasAvailableSubCommands() {
			b.WriteString("\n")
		}
		b.WriteString(flags.FlagUsagesWrapped(helpWidth))
	}
	fmt.Fprintf(&b, "\n%s\n", cmp.Or(cmd.Annotations[exitKey], commonExit))
	if cmd.Example != "" {
		fmt.Fprintf(&b, "Example:\n%s\n", strings.TrimRight(cmd.Example, "\n"))
	}
	return b.String()
}

// wrapText breaks a text into lines of helpWidth. It keeps lines that begin with a space,
// such as lists and columns.
func wrapText(text string) (lines []string) {
	paragraph := ""
	end := func() {
		if paragraph != "" {
			lines = append(lines, terminal.Wrap(paragraph, helpWidth)...)
			paragraph = ""
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "" || line[0] == ' ' {
			end()
			lines = append(lines, line)
			continue
		}
		paragraph += line + " "
	}
	end()
	return lines
}

func newHelp() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Hidden:  true, // the list of commands has as many lines as fit, and each command has --help
		Short:   "Describe a command",
		Long:    "Describes a command, as \"keyfill COMMAND --help\" does.",
		Example: "  keyfill help check",
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) == 0 {
				return found.Help()
			}
			var names []string
			for _, one := range cmd.Root().Commands() {
				names = append(names, one.Name())
			}
			topic := strings.Join(args, " ")
			return usage.Errorf("there is no command %q: take one that keyfill --help lists%s", topic, nearest.DidYouMean(topic, names))
		},
	}
}

func newCompletion() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print what completes command lines of keyfill in a shell",
		Long: `Prints the script by which a shell completes the commands and flags of keyfill.
A shell reads it at its start:
  bash        source <(keyfill completion bash), in ~/.bashrc
  zsh         source <(keyfill completion zsh), in ~/.zshrc after compinit
  fish        keyfill completion fish | source, in ~/.config/fish/config.fish
  powershell  keyfill completion powershell | Out-String | Invoke-Expression`,
		Example:   "  source <(keyfill completion bash)",
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		Args:      arguments(cobra.MatchAll(cobra.ExactArgs(1), cobra.OnlyValidArgs)),
		RunE: func(cmd *cobra.Command, args []string) error {
			root, out := cmd.Root(), cmd.OutOrStdout()
			switch args[0] {
			case "bash":
				return root.GenBashCompletionV2(out, true)
			case "zsh":
				return root.GenZshCompletion(out)
			case "fish":
				return root.GenFishCompletion(out, true)
			}
			return root.GenPowerShellCompletionWithDesc(out)
		},
	}
}
