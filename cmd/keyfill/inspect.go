package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

const inspectHelp = `Prints what each key can be read as, the most certain reading first: its kind,
layout and time, and for integers the worker and the sequence. Keys of coprime,
pseudorandom and scatter have no marks: say --kind and the parameters of their
source, or --config and a table of the policy, by which any key is read.
docs/command.md#keyfill-inspect lists the forms and the fields.`

func newInspect() *cobra.Command {
	var (
		asJSON bool
		as     policy.Source
		bits   int
		from   tableKeys
	)
	cmd := &cobra.Command{
		Use:     "inspect [--config FILE TABLE] KEY...",
		Short:   "Say what a key is and when it was made",
		Long:    inspectHelp,
		Example: `  keyfill inspect --kind coprime --length 6 --alphabet base62 yMcpIs`,
		Args:    arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			inspect := keysource.Inspect
			if from != (tableKeys{}) {
				if as != (policy.Source{}) || bits != 0 || from.config == "" || len(args) < 2 {
					return usagef("--config says how keys are: name a table of the policy and keys, and leave --kind and its parameters out")
				}
				key, _, err := from.key(args[0])
				if err != nil {
					return err
				}
				args = args[1:]
				inspect = func(text string) ([]keysource.Reading, error) { return readings(key, text) }
			}
			if as != (policy.Source{}) || bits != 0 {
				m, err := mappingOf(as, bits)
				if err != nil {
					return err
				}
				inspect = func(text string) ([]keysource.Reading, error) {
					r, err := keysource.InspectAs(text, m)
					return []keysource.Reading{r}, err
				}
			}
			keys, err := inspectAll(args, inspect)
			show := printTable
			if asJSON {
				show = printJSON
			}
			return errors.Join(show(cmd.OutOrStdout(), keys), err)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&asJSON, "json", false, "print JSON, one object for each key")
	from.add(cmd)
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

// mappingOf returns the mapping that the flags describe.
func mappingOf(as policy.Source, bits int) (keysource.Mapping, error) {
	fields := map[string][]string{
		policy.KindCoprime:      {"length", "alphabet", "k", "start", "grow"},
		policy.KindPseudorandom: nil,
		policy.KindScatter:      {"bits", "key"},
	}
	own, known := fields[as.Kind]
	if !known {
		return nil, usagef("--kind is coprime, pseudorandom or scatter; leave it and the parameters out for keys of other kinds")
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"length", as.Length != 0}, {"alphabet", as.Alphabet != ""}, {"k", as.K != 0}, {"start", as.Start != 0},
		{"grow", as.Grow}, {"bits", bits != 0}, {"key", as.Key != ""},
	} {
		if f.given && !slices.Contains(own, f.name) {
			return nil, usagef("--%s is no parameter of %s; leave it out", f.name, as.Kind)
		}
	}
	m, err := as.Mapping("", bits)
	if err != nil {
		return nil, &usageError{err}
	}
	return m, nil
}

// inspectedKey is a key with what it can be read as.
type inspectedKey struct {
	Key      string    `json:"key"`
	Readings []reading `json:"readings"`
}

// reading is a keysource.Reading in words.
type reading struct {
	Kind   string `json:"kind"`
	Layout string `json:"layout,omitempty"`
	Epoch  string `json:"epoch,omitempty"`
	Time   string `json:"time,omitempty"`
	Random string `json:"random,omitempty"`

	Bits     int    `json:"bits,omitempty"`
	Worker   *int64 `json:"worker,omitempty"` // nil where there is none: 0 is a number
	Sequence *int64 `json:"sequence,omitempty"`

	Length  int    `json:"length,omitempty"`
	Spread  *int64 `json:"spread,omitempty"`
	Counter *int64 `json:"counter,omitempty"`

	Number int64 `json:"number,omitempty"`
}

// inspectAll reads all keys; the error names the arguments that are no keys. It
// does not repeat them, since such an argument may be a secret that slipped in.
func inspectAll(texts []string, inspect func(string) ([]keysource.Reading, error)) ([]inspectedKey, error) {
	var (
		keys []inspectedKey
		errs []error
	)
	for i, text := range texts {
		readings, err := inspect(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("argument %d: %w", i+1, err))
			continue
		}
		k := inspectedKey{Key: text}
		for _, r := range readings {
			k.Readings = append(k.Readings, readingOf(r))
		}
		keys = append(keys, k)
	}
	return keys, errors.Join(errs...)
}

func readingOf(r keysource.Reading) reading {
	in := reading{
		Kind:   r.Kind,
		Layout: string(r.Layout),
		Epoch:  string(r.Epoch),
		Time:   timeText(r.Time),
		Random: r.Random,
		Bits:   r.Width,
		Length: r.Length,
		Number: r.Number,
	}
	switch {
	case r.Width > 0:
		in.Worker, in.Sequence = &r.Worker, &r.Sequence
	case r.Length > 0:
		in.Spread = &r.Worker
		if r.Length > 20 {
			in.Counter = &r.Sequence
		}
	}
	return in
}

// timeText returns a time of a key in RFC 3339 with milliseconds.
func timeText(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

func printJSON(w io.Writer, keys []inspectedKey) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, k := range keys {
		if err := e.Encode(k); err != nil {
			return err
		}
	}
	return nil
}

// printTable prints each key on a line of its own, since it is long, and its
// readings below it.
func printTable(w io.Writer, keys []inspectedKey) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for i, k := range keys {
		if i > 0 {
			fmt.Fprintln(t)
		}
		fmt.Fprintln(t, k.Key)
		switch first := k.Readings[0]; {
		case first.Bits > 0:
			printSnowflakes(t, k.Readings)
			continue
		case first.Spread != nil:
			printComposites(t, k.Readings)
			continue
		case first.Number > 0:
			fmt.Fprintf(t, "  KIND\tNUMBER\n  %s\t%d\n", first.Kind, first.Number)
			continue
		}
		fmt.Fprintln(t, "  KIND\tLAYOUT\tEPOCH\tTIME\tRANDOM")
		for _, r := range k.Readings {
			fmt.Fprintf(t, "  %s\t%s\t%s\t%s\t%s\n", r.Kind, cmp.Or(r.Layout, "-"),
				cmp.Or(r.Epoch, "-"), cmp.Or(r.Time, "-"), cmp.Or(r.Random, "-"))
		}
	}
	return t.Flush()
}

// printSnowflakes prints the readings of an integer that may be a snowflake.
func printSnowflakes(w io.Writer, readings []reading) {
	fmt.Fprintln(w, "  KIND\tBITS\tTIME\tWORKER\tSEQUENCE")
	for _, r := range readings {
		if r.Bits == 0 {
			fmt.Fprintf(w, "  %s\t-\t-\t-\t-\n", r.Kind)
			continue
		}
		fmt.Fprintf(w, "  %s\t%d\t%s\t%d\t%d\n", r.Kind, r.Bits, r.Time, *r.Worker, *r.Sequence)
	}
}

// printComposites prints the readings of a text that may be a composite key.
func printComposites(w io.Writer, readings []reading) {
	fmt.Fprintln(w, "  KIND\tLENGTH\tTIME\tSPREAD\tCOUNTER")
	for _, r := range readings {
		if r.Spread == nil {
			fmt.Fprintf(w, "  %s\t-\t-\t-\t-\n", r.Kind)
			continue
		}
		counter := "-"
		if r.Counter != nil {
			counter = strconv.FormatInt(*r.Counter, 10)
		}
		fmt.Fprintf(w, "  %s\t%d\t%s\t%d\t%s\n", r.Kind, r.Length, r.Time, *r.Spread, counter)
	}
}
