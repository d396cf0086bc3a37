package main

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/keyvalues"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

const inspectHelp = `Prints what each key can be read as, the most certain reading first: its kind,
layout and time, and for integers the worker and the sequence. Keys of coprime,
pseudorandom and scatter have no marks: say --kind and the parameters of their
source, or --config and a table of the policy, by which any key is read: the text
of a number with its state and its period.
docs/command.md#keyfill-inspect lists the forms and the fields.`

func newInspect() *cobra.Command {
	var (
		asJSON bool
		as     policy.Source
		bits   int
		from   keyvalues.TableKeys
	)
	cmd := &cobra.Command{
		Use:     "inspect [--config FILE TABLE] KEY...",
		Short:   "Say what a key is and when it was made",
		Long:    inspectHelp,
		Example: `  keyfill inspect --kind coprime --length 6 --alphabet base62 yMcpIs`,
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			inspect := keyvalues.Plain(keysource.Inspect)
			if from != (keyvalues.TableKeys{}) {
				if as != (policy.Source{}) || bits != 0 || from.Config == "" || len(args) < 2 {
					return usage.Errorf("--config says how keys are: name a table of the policy and keys, and leave --kind and its parameters out")
				}
				key, _, err := from.Key(args[0])
				if err != nil {
					return err
				}
				args = args[1:]
				inspect = func(text string) ([]keyvalues.Reading, error) { return keyvalues.Readings(key, text) }
			}
			if as != (policy.Source{}) || bits != 0 {
				m, err := mappingOf(as, bits)
				if err != nil {
					return err
				}
				inspect = keyvalues.Plain(func(text string) ([]keysource.Reading, error) {
					r, err := keysource.InspectAs(text, m)
					return []keysource.Reading{r}, err
				})
			}
			keys, err := keyvalues.InspectAll(args, inspect)
			show := keyvalues.PrintTable
			if asJSON {
				show = keyvalues.PrintJSON
			}
			return errors.Join(show(cmd.OutOrStdout(), keys), err)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print JSON, one object for each key")
	addTableKeys(cmd, &from)
	flags.StringVar(&as.Kind, "kind", "", "coprime, pseudorandom or scatter")
	flags.IntVar(&as.Length, "length", 0, "of coprime: the characters of a key")
	flags.StringVar(&as.Alphabet, "alphabet", "", "of coprime: base62, base32 or the characters")
	flags.Int64Var(&as.K, "k", 0, "of coprime: the step")
	flags.Int64Var(&as.Start, "start", 0, "of coprime: the start")
	flags.BoolVar(&as.Grow, "grow", false, "of coprime: keys may get longer")
	flags.IntVar(&bits, "bits", 0, "of scatter: max_bits of the table")
	flags.StringVar(&as.Key, "key", "", "of scatter: its key")
	return cmd
}

// mappingOf returns the mapping (which makes the key of each counted number) that the flags
// describe.
func mappingOf(as policy.Source, bits int) (keysource.Mapping, error) {
	fields := map[string][]string{
		policy.KindCoprime:      {"length", "alphabet", "k", "start", "grow"},
		policy.KindPseudorandom: nil,
		policy.KindScatter:      {"bits", "key"},
	}
	own, known := fields[as.Kind]
	if !known {
		return nil, usage.Errorf("--kind is coprime, pseudorandom or scatter; leave it and the parameters out for keys of other kinds")
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"length", as.Length != 0}, {"alphabet", as.Alphabet != ""}, {"k", as.K != 0}, {"start", as.Start != 0},
		{"grow", as.Grow}, {"bits", bits != 0}, {"key", as.Key != ""},
	} {
		if f.given && !slices.Contains(own, f.name) {
			return nil, usage.Errorf("--%s is no parameter of %s; leave it out", f.name, as.Kind)
		}
	}
	m, err := as.Mapping("", bits)
	if err != nil {
		return nil, usage.Wrap(err)
	}
	return m, nil
}
