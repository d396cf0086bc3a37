package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/keysource"
)

func newInspect() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "inspect KEY...",
		Short: "Say what a key is and when it was made",
		Long: `Prints what each key can be read as, the most certain reading first.

A key is, in either case,
  xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx   the text of a UUID; also {...}, urn:uuid:...
  32 hexadecimal digits                  16 bytes as they are stored; also 0x..., \x...,
                                         X'...'
  26 characters                          a ULID
  an integer of 64 bits                  decimal; a negative one after --

For each reading there are
  kind     uuidv7, uuidv4, ulid, comb; uuidv1 and so on; uuid; snowflake, integer
  layout   string, binary or sequential_at_end: the order of the bytes in which
           the key is of that kind
  epoch    of a comb: dotnet (since 0001-01-01) or unix (since 1970-01-01)
  time     UTC, in milliseconds
  random   the bits besides time, version and variant, in hexadecimal

and for an integer that may be a snowflake
  bits      63 or 53: of the bits that snowflakes have by default, or of the bits
            that keep them below 2^53; others are not known
  worker    the number of the process that made it
  sequence  its number among that worker's keys of one time

A comb has no marks but its time, so that two of a hundred random keys can be
read as one.

With --json, one object a line:
  {"key":...,"readings":[{"kind":...,"layout":...,"epoch":...,"time":...,"random":...,
                          "bits":...,"worker":...,"sequence":...}]}
in which what a reading has not is left out.

A text that is no key is an error; the other keys are printed all the same.`,
		Example: `  keyfill inspect 39babcb4-e446-4ed5-4012-2e27653a9d13 01ARZ3NDEKTSV4RRFFQ69G5FAV
  keyfill inspect --json 0x653a9d132e2780127ed50137aa880c46`,
		Args: arguments(cobra.MinimumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			keys, err := inspectAll(args)
			show := printTable
			if asJSON {
				show = printJSON
			}
			return errors.Join(show(cmd.OutOrStdout(), keys), err)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object for each key")
	return cmd
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
}

// inspectAll reads all keys; the error is about those that are none. It does
// not repeat them: what is no key may be a secret that slipped in.
func inspectAll(texts []string) ([]inspectedKey, error) {
	var (
		keys []inspectedKey
		errs []error
	)
	for i, text := range texts {
		readings, err := keysource.Inspect(text)
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
	}
	if r.Width > 0 {
		in.Worker, in.Sequence = &r.Worker, &r.Sequence
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
		if k.Readings[0].Bits > 0 {
			printSnowflakes(t, k.Readings)
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
