package keyfill

import (
	"io"
	"log/slog"
	"time"

	"github.com/keyfill/keyfill/internal/fill/execution"
	"github.com/keyfill/keyfill/keysource"
	"github.com/keyfill/keyfill/policy"
)

// Options are the settings of [Register], [RegisterByName], [WrapConnector] and [OpenDB]
// besides the driver. The zero value is right for a program that keeps its policy in a
// file. Policy is copied; the other fields are shared.
type Options struct {
	// Policy determines which columns are filled, and how. If it is nil, the file that
	// $KEYFILL_CONFIG names, or else ./keyfill.yaml, is read each time that a database
	// is opened.
	Policy *policy.Config

	// Logger gets the log: docs/monitoring.md lists all messages. No line holds a key,
	// an argument, a DSN, a value of [WithValue] or the text of a query, with one
	// exception: a finding of "check: start" has the text that keyfill check prints,
	// which may name a state with such a value. If Logger is nil, slog.Default is
	// called for each line.
	Logger *slog.Logger

	// Now is the clock of the sources and must be safe for concurrent use; nil means
	// time.Now.
	Now func() time.Time

	// Rand is the entropy of the sources and must be safe for concurrent use; nil means
	// crypto/rand. If Rand fails, the INSERT fails with [keysource.ErrEntropy].
	Rand io.Reader

	// Reservers replaces the stores of all sources with a state, for tests without a
	// database. It is called once for each state, with its name, and must be safe for
	// concurrent use. If it is set, neither a store nor the catalog of the engine is
	// asked, and no key belongs to a transaction. Nil means that the stores are used.
	Reservers func(state string) keysource.Reserver
}

// copied returns the options with a copy of the policy, which the caller cannot change.
func (o Options) copied() Options {
	if o.Policy != nil {
		o.Policy = o.Policy.Clone()
	}
	return o
}

// withPolicy returns the options with a policy. If they have none, it reads the file
// that the environment names.
func (o Options) withPolicy() (Options, error) {
	if o.Policy == nil {
		cfg, err := policy.FromEnvironment()
		if err != nil {
			return Options{}, err
		}
		o.Policy = cfg
	}
	return o, nil
}

// assembled returns the options for the database of package fill.
func (o Options) assembled() execution.Options {
	return execution.Options{Policy: o.Policy, Logger: o.Logger, Now: o.Now, Rand: o.Rand, Reservers: o.Reservers, NewError: newError}
}
