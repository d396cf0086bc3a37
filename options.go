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
	// Policy says which columns are filled, and how. Where it is nil, the file
	// that $KEYFILL_CONFIG names, else ./keyfill.yaml, is read each time that a
	// database is opened.
	Policy *policy.Config

	// Logger gets the log: docs/monitoring.md lists all messages. No line holds a key, an
	// argument, a DSN, a value of [WithValue] or the text of a query, with one exception:
	// a finding of "check: start" says what keyfill check prints, which may name a state
	// by such a value. If Logger is nil, slog.Default is called for each line.
	Logger *slog.Logger

	// Now is the clock of the sources and must be safe for concurrent use; nil
	// is time.Now.
	Now func() time.Time

	// Rand is the entropy of the sources and must be safe for concurrent use;
	// nil is crypto/rand. An error of Rand is the INSERT's:
	// [keysource.ErrEntropy].
	Rand io.Reader

	// Reservers replaces the stores of all sources with a state, for tests
	// without a database. It is called once for each state, with its name, and
	// must be safe for concurrent use. Where Reservers is set, neither a store
	// nor the catalog of the engine is asked, and no key belongs to a
	// transaction. Nil means the stores.
	Reservers func(state string) keysource.Reserver
}

// copied returns options whose policy is the module's own.
func (o Options) copied() Options {
	if o.Policy != nil {
		o.Policy = o.Policy.Clone()
	}
	return o
}

// withPolicy returns options that have a policy, read from the environment's
// file where they have none.
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

// assembled returns the options of the database.
func (o Options) assembled() execution.Options {
	return execution.Options{Policy: o.Policy, Logger: o.Logger, Now: o.Now, Rand: o.Rand, Reservers: o.Reservers, NewError: newError}
}
