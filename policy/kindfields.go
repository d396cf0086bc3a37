package policy

import (
	"slices"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/keysource"
)

// counterFields are the fields of the kinds that count through a row of a store.
var counterFields = []string{
	"name", "store", "block", "min_block", "max_block", "start", "ensure_schema", "create",
	"exclusive", "on_store_rollback", "lock", "table",
}

// asText is the layout of keys that are text, or decimal text.
var asText = []dialect.Layout{dialect.SequentialAsString}

var kinds = []kind{
	{
		name:      KindUUIDv7,
		doc:       "UUIDs that ascend with time",
		guarantee: Guarantee{Unique: UniqueByChance, Ordered: OrderedInProcess},
		layouts:   layouts,
		open: func(_ Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewUUIDv7(env), nil
		},
	},
	{
		name:      KindUUIDv4,
		doc:       "random UUIDs",
		guarantee: Guarantee{Unique: UniqueByChance, Ordered: NotOrdered, Unguessable: true},
		layouts:   layouts,
		open: func(_ Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewUUIDv4(env), nil
		},
	},
	{
		name:      KindULID,
		doc:       "ULIDs, for text columns, or with layout binary for columns of 16 bytes",
		guarantee: Guarantee{Unique: UniqueByChance, Ordered: OrderedInProcess},
		layouts:   []dialect.Layout{dialect.SequentialAsString, dialect.SequentialAsBinary},
		// Text of its own alphabet, which neither uniqueidentifier nor RAW
		// holds: a policy that wants a ULID there says "layout: binary".
		layout: dialect.SequentialAsString,
		open: func(_ Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewULID(env), nil
		},
	},
	{
		name:      KindCOMB,
		doc:       "48 bits of time and 80 random bits, as .NET programs make them",
		guarantee: Guarantee{Unique: UniqueByChance, Ordered: OrderedByMillisecond},
		layouts:   layouts,
		fields:    []string{"epoch"},
		check:     (*mistakes).checkCOMB,
		defaults: func(s *Source, _ *dialect.Dialect) {
			if s.Epoch == "" {
				s.Epoch = keysource.EpochDotNet
			}
		},
		open: func(s Source, env keysource.Env) (keysource.Source, error) {
			return keysource.NewCOMB(env, s.Epoch), nil
		},
	},
	{
		name:      KindSequence,
		doc:       "integers that count through a row of a store",
		guarantee: Guarantee{Unique: Unique, Ordered: OrderedInProcess, Contiguous: true},
		integer:   true,
		stateful:  true,
		layouts:   asText,
		fields: slices.Concat(counterFields, []string{
			"below", "start_at", "skip_range", "follow_explicit", "on_behind", "transaction", "via", "procedure", "scope",
			"upstream", "upstream_block", "upstream_lasts",
		}),
		check:    (*mistakes).checkSequence,
		suit:     namer.suitSequence,
		defaults: completeSequence,
		open:     ofDatabase,
	},
	{
		name:      KindNative,
		doc:       "integers of a sequence of the engine, which other programs may use too",
		guarantee: Guarantee{Unique: Unique, Ordered: OrderedInProcess, Contiguous: true},
		integer:   true,
		stateful:  true,
		layouts:   asText,
		fields:    []string{"sequence", "block", "exclusive", "on_behind", "on_store_rollback"},
		check:     (*mistakes).checkNative,
		suit:      namer.suitNative,
		defaults:  completeNative,
		open:      ofDatabase,
	},
	{
		name: KindMaxPlusOne,
		doc:  "the greatest key of the table and one, which the deletion of the last row gives again",
		// Of two that ask at once without a lock both may get a key, and a key that
		// was the greatest and is deleted comes again.
		guarantee: Guarantee{Unique: NotUnique, Ordered: Ordered, Contiguous: true, GapFree: true},
		integer:   true,
		stateful:  true,
		fields:    []string{"lock", "ensure_schema", "exclusive"},
		check:     (*mistakes).checkMaxPlusOne,
		defaults:  completeMaxPlusOne,
		open:      ofDatabase,
	},
	{
		name:      KindPseudorandom,
		doc:       "integers below 2^31 in the order of a minimal standard random number generator",
		guarantee: Guarantee{Unique: Unique, Ordered: NotOrdered},
		integer:   true,
		stateful:  true,
		layouts:   asText,
		fields:    counterFields,
		check:     (*mistakes).checkPseudorandom,
		suit:      namer.suitCounter,
		defaults:  completeCounter,
		open:      ofDatabase,
	},
	{
		name:      KindScatter,
		doc:       "integers in an order that looks random, all of as many bits as max_bits says",
		guarantee: Guarantee{Unique: Unique, Ordered: NotOrdered},
		integer:   true,
		stateful:  true,
		layouts:   asText,
		fields:    slices.Concat(counterFields, []string{"key"}),
		check:     (*mistakes).checkScatter,
		suit:      namer.suitCounter,
		defaults:  completeCounter,
		open:      ofDatabase,
	},
	{
		name:      KindCoprime,
		doc:       "short text of a fixed length, spread over all that there is",
		guarantee: Guarantee{Unique: Unique, Ordered: NotOrdered},
		stateful:  true,
		layouts:   asText,
		layout:    dialect.SequentialAsString,
		fields:    slices.Concat(counterFields, []string{"length", "alphabet", "k", "grow", "collation"}),
		check:     (*mistakes).checkCoprime,
		suit:      namer.suitCoprime,
		defaults:  completeCoprime,
		open:      ofDatabase,
	},
	{
		name:      KindComposite,
		doc:       "20 or 24 digits of a worker's number or another spread, and the time in UTC",
		guarantee: Guarantee{Unique: Unique, Ordered: OrderedInSpread},
		stateful:  true,
		layouts:   asText,
		layout:    dialect.SequentialAsString,
		fields: []string{
			"name", "store", "ensure_schema", "exclusive",
			"worker", "worker_env", "worker_ordinal", "worker_lease", "spread", "length",
		},
		check:    (*mistakes).checkComposite,
		suit:     namer.suitComposite,
		defaults: completeComposite,
		open:     ofDatabase,
	},
	{
		name:      KindRecycled,
		doc:       "integers of a series for each process, which goes to another when that has ended",
		guarantee: Guarantee{Unique: Unique, Ordered: OrderedInSeries, Contiguous: true},
		integer:   true,
		stateful:  true,
		layouts:   asText,
		fields: []string{
			"name", "store", "block", "min_block", "max_block", "start", "ensure_schema", "create",
			"exclusive", "on_behind", "on_store_rollback", "series", "lease",
		},
		check:    (*mistakes).checkRecycled,
		defaults: completeRecycled,
		open:     ofDatabase,
	},
	{
		name:      KindSnowflake,
		doc:       "integers of the time, a worker's number and a sequence number",
		guarantee: Guarantee{Unique: Unique, Ordered: OrderedInProcess, Contiguous: true},
		integer:   true,
		stateful:  true,
		layouts:   asText,
		fields: []string{
			"epoch", "name", "store", "ensure_schema", "exclusive", "on_behind",
			"worker", "worker_env", "worker_ordinal", "worker_lease",
			"bits", "time_bits", "worker_bits", "sequence_bits", "unit",
		},
		check:    (*mistakes).checkSnowflake,
		suit:     namer.suitSnowflake,
		defaults: completeSnowflake,
		open: func(s Source, env keysource.Env) (keysource.Source, error) {
			if s.WorkerLease > 0 {
				return ofDatabase(s, env)
			}
			source, err := keysource.NewSnowflake(s.SnowflakeOptions(), env)
			if err != nil {
				return nil, err // and not a *Snowflake that is nil
			}
			return source, nil
		},
	},
	{
		name: KindIdentity,
		doc:  "made by the engine: the table is passed untouched",
	},
}

// ofDatabase is the error about a source whose state a database has to hold.
func ofDatabase(s Source, _ keysource.Env) (keysource.Source, error) {
	return nil, &Error{Msg: "a " + s.Kind + " needs a database: fill the table through one that is opened with it"}
}
