package keyvalues

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/calendar"
	"github.com/keyfill/keyfill/internal/numberformat"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// inspectedKey is a key with the ways in which it can be read.
type inspectedKey struct {
	Key      string    `json:"key"`
	Readings []reading `json:"readings"`
}

// reading is a keysource.Reading (one way to read a key) in the form that is printed.
type reading struct {
	Kind   string `json:"kind"`             // uuidv7, uuidv4, ulid, comb, uuidv1 and so on, uuid, snowflake or integer
	Layout string `json:"layout,omitempty"` // string, binary or sequential_at_end: the order of the bytes in which the key is of that kind
	Epoch  string `json:"epoch,omitempty"`  // of a comb: dotnet (since 0001-01-01) or unix (since 1970-01-01)
	Time   string `json:"time,omitempty"`   // UTC, in milliseconds
	Random string `json:"random,omitempty"` // the bits besides time, version and variant, in hexadecimal

	Bits     int    `json:"bits,omitempty"`     // of a snowflake with the default bits: 63 or 53
	Worker   *int64 `json:"worker,omitempty"`   // the worker's number; left out if the key has none
	Sequence *int64 `json:"sequence,omitempty"` // the number of the key within its time

	Length  int    `json:"length,omitempty"`  // of a composite: 20 or 24 characters
	Spread  *int64 `json:"spread,omitempty"`  // its first three digits
	Counter *int64 `json:"counter,omitempty"` // its last four digits, if it has 24

	Prefix string `json:"prefix,omitempty"` // of a TypeID: what stands before its last underscore
	UUID   string `json:"uuid,omitempty"`   // the text of its UUID

	Number int64 `json:"number,omitempty"` // of a number's text the number; of coprime, pseudorandom and scatter how many keys were reserved up to this one

	State   string            `json:"state,omitempty"`   // of a number's text, with --config: the state that counts it
	Period  string            `json:"period,omitempty"`  // the period in which it was drawn
	Columns map[string]string `json:"columns,omitempty"` // the columns that the text shows, with their values
}

// Reading is a way to read a key.
type Reading struct {
	keysource.Reading

	// State is the state (stored counter) of a formatted number, Period the period in which it
	// was drawn, and Columns are the columns that its text shows.
	State, Period string
	Columns       map[string]string
}

// Plain returns a function that reads keys which are no formatted numbers.
func Plain(inspect func(string) ([]keysource.Reading, error)) func(string) ([]Reading, error) {
	return func(text string) ([]Reading, error) {
		all, err := inspect(text)
		readings := make([]Reading, len(all))
		for i, one := range all {
			readings[i].Reading = one
		}
		return readings, err
	}
}

// InspectAll reads all keys. Its error gives the positions of the arguments that are not
// keys. It does not repeat the arguments, since one may be a secret that was passed by
// mistake.
func InspectAll(texts []string, inspect func(string) ([]Reading, error)) ([]inspectedKey, error) {
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

func readingOf(r Reading) reading {
	in := reading{
		Kind:   r.Kind,
		Layout: string(r.Layout),
		Epoch:  string(r.Epoch),
		Time:   timeText(r.Time),
		Random: r.Random,
		Bits:   r.Width,
		Length: r.Length,
		Prefix: r.Prefix,
		UUID:   r.UUID,
		Number: r.Number,

		State: r.State, Period: r.Period, Columns: r.Columns,
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

// PrintJSON prints each key with its readings as a line of JSON.
func PrintJSON(w io.Writer, keys []inspectedKey) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, k := range keys {
		if err := e.Encode(k); err != nil {
			return err
		}
	}
	return nil
}

// PrintTable prints each key on a line of its own, since it is long, and its
// readings below it.
func PrintTable(w io.Writer, keys []inspectedKey) error {
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
		case first.UUID != "":
			fmt.Fprintf(t, "  KIND\tPREFIX\tTIME\tUUID\n  %s\t%s\t%s\t%s\n", first.Kind, first.Prefix, cmp.Or(first.Time, "-"), first.UUID)
			continue
		case first.State != "":
			fmt.Fprintf(t, "  KIND\tSTATE\tPERIOD\tCOLUMNS\tNUMBER\n  %s\t%s\t%s\t%s\t%d\n", first.Kind, first.State, cmp.Or(first.Period, "-"), columnsOf(first.Columns), first.Number)
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

// columnsOf returns columns with their values as text, in the order of their names.
func columnsOf(columns map[string]string) string {
	var all []string
	for _, name := range slices.Sorted(maps.Keys(columns)) {
		all = append(all, name+"="+columns[name])
	}
	return cmp.Or(strings.Join(all, ","), "-")
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

// Readings returns the ways to read a text as a key from the source of a column.
func Readings(key policy.RuleKey, text string) ([]Reading, error) {
	source := key.Source
	if source.Format != "" {
		one, err := readNumber(key, text)
		return []Reading{one}, err
	}
	return Plain(func(text string) ([]keysource.Reading, error) { return plainReadings(key, text) })(text)
}

// readNumber reads the text of a formatted number.
func readNumber(key policy.RuleKey, text string) (r Reading, err error) {
	t, err := numberformat.Parse(key.Source.Format)
	if err != nil {
		return r, err
	}
	var every *calendar.Calendar
	if p := key.Source.Period; p.Every != "" && p.Every != policy.PeriodNone {
		c, err := calendar.New(calendar.Every(p.Every), p.Starts, p.Zone)
		if err != nil {
			return r, err
		}
		every = &c
	}
	parts, isOne := t.PartsOf(text, every)
	if !isOne {
		return r, fmt.Errorf("the number's text has another form than %s: name the policy with the format of its period, as keyfill period list prints it", key.Source.Format)
	}
	r.Kind, r.Number, r.Period, r.Columns = key.Source.Kind, parts.Number, parts.Period.Name, parts.Columns
	// A value that is not in the text stays as the policy has it.
	r.State, err = key.StateFor(func(name string) (string, bool) { return cmp.Or(parts.Values[name], "{value:"+name+"}"), true })
	return r, err
}

func plainReadings(key policy.RuleKey, text string) ([]keysource.Reading, error) {
	source := key.Source
	switch source.Kind {
	case policy.KindCoprime, policy.KindPseudorandom, policy.KindScatter, policy.KindComposite:
		m, err := source.Mapping(key.State, key.MaxBits)
		if err != nil {
			return nil, err
		}
		one, err := keysource.InspectAs(text, m)
		return []keysource.Reading{one}, err
	case policy.KindSnowflake:
		one, err := keysource.InspectSnowflake(text, source.SnowflakeOptions().Bits)
		return []keysource.Reading{one}, err
	}
	all, err := keysource.Inspect(text)
	if err != nil {
		return nil, err
	}
	var own []keysource.Reading
	for _, one := range all {
		switch {
		case one.Prefix != "" || key.Prefix != "": // an id with a prefix is also read where the column holds its UUID
			if one.Kind == source.Kind && one.Prefix == source.Prefix {
				own = append(own, one)
			}
		case key.Integer && one.Kind == "integer":
			own = append(own, keysource.Reading{Kind: source.Kind})
		case one.Kind == source.Kind && one.Layout == key.Layout && (one.Epoch == "" || one.Epoch == cmp.Or(source.Epoch, keysource.EpochDotNet)):
			own = append(own, one)
		}
	}
	if own == nil {
		form := inLayout(key.Layout)
		if key.Prefix != "" {
			form = " with the prefix " + key.Prefix
		}
		return nil, fmt.Errorf("the key is not of kind %s%s: leave --config out to see what it can be", source.Kind, form)
	}
	return own, nil
}

func inLayout(l dialect.Layout) string {
	if l == "" {
		return ""
	}
	return " in the layout " + strings.ReplaceAll(string(l), "_", " ")
}
