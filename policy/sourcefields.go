package policy

import (
	"strings"
	"time"

	"github.com/keyfill/keyfill/keysource"
)

func sourcesShape() shape[map[string]Source] {
	s := section(sourceShape())
	s.schema = s.schema.with("propertyNames", schema{
		"pattern": sourceNamePattern, "not": schema{"enum": kindNames()},
	})
	return s
}

func sourceShape() shape[Source] {
	s := object(sourceFields)
	var rules []schema
	for _, f := range sourceFields {
		if f.name != "kind" {
			rules = append(rules, schema{
				"if":   schema{"properties": schema{"kind": schema{"enum": kindsWith(f.name)}}},
				"else": schema{"properties": schema{f.name: false}},
			})
		}
	}
	s.schema = s.schema.with("allOf", rules)
	return s
}

// sourceKey is a field of a source. But for kind, each belongs to the kinds that
// list it.
type sourceKey struct {
	field[Source]

	isSet func(s *Source) bool // to another than the zero value
}

// of returns the field of a source called name, as [bind] does; the schema says
// the kinds too.
func of[V comparable](name, doc string, s shape[V], to func(s *Source) *V) sourceKey {
	if !namesKind(doc) {
		doc = strings.Join(kindsWith(name), ", ") + ": " + doc
	}
	return sourceKey{
		field: bind(name, doc, s, to),
		isSet: func(s *Source) bool {
			var zero V
			return *to(s) != zero
		},
	}
}

var sourceFields = func() []field[Source] {
	fields := []field[Source]{
		must("kind: sequence", bind("kind", "How the keys are made. "+kindDocs(),
			word[string]("kind", kindNames()), func(s *Source) *string { return &s.Kind })),
	}
	for _, k := range sourceKeys {
		fields = append(fields, k.field)
	}
	return fields
}()

var sourceKeys = []sourceKey{
	of("epoch", "comb: from when the time counts, dotnet (default, 0001-01-01) or unix (1970-01-01). snowflake: the day from which it does, 2020-01-01 by default.",
		epochShape, func(s *Source) *keysource.Epoch { return &s.Epoch }),
	of("name", "The name of the state, which may hold {schema}, {table} and {value:x}. Left out, it is the name of the source, or table.column.",
		text, func(s *Source) *string { return &s.Name }),
	of("store", "Where the state is kept, the name of an entry of stores; left out, the application's own database. snowflake, composite: or none.",
		text.matching(sourceNamePattern), func(s *Source) *string { return &s.Store }),
	of("transaction", "sequence: whether numbers are reserved apart from the statement's transaction, autonomous (default), or in it, joined: without gaps, and one transaction at a time.",
		word[string](fieldWhat("transaction"), transactionWords), func(s *Source) *string { return &s.Transaction }),
	of("scope", "sequence: the columns within whose values rows are numbered, each a name or {column, type: integer | text}.",
		scopeShape(), func(s *Source) **Scope { return &s.Scope }),
	of("lock", "pessimistic (default), the row is locked before it is read, or optimistic, it is changed if it is as it was read. maxplusone: range (default), one statement at a time, or none.",
		word[string](fieldWhat("lock"), lockWords), func(s *Source) *string { return &s.Lock }),
	of("via", "sequence: whether numbers are reserved by statements, table (default), or by a stored procedure.",
		word[string](fieldWhat("via"), viaWords), func(s *Source) *string { return &s.Via }),
	of("procedure", "sequence: the stored procedure. Left out, it is keyfill_reserve.",
		text, func(s *Source) *string { return &s.Procedure }),
	of("table", "An existing table that holds the state, as other programs have made it.",
		optional(keyTableShape()), func(s *Source) **KeyTable { return &s.Table }),
	of("sequence", "native: the engine's sequence. Left out, it is the column's own.",
		text, func(s *Source) *string { return &s.Sequence }),
	of("block", "How many integers are reserved at a time. Left out, it follows the use. native: what the sequence increments by, 1 by default.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.Block }),
	of("min_block", "The least number that follows the use, 10 by default.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.MinBlock }),
	of("max_block", "The greatest number that follows the use, 1000000 by default.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.MaxBlock }),
	of("series", "recycled: how many integers a process owns at a time, 1000000 by default.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.Series }),
	of("lease", "recycled: how long a process owns a series without saying so again, 30s by default.",
		durationShape, func(s *Source) *time.Duration { return &s.Lease }),
	of("start", "The first integer; of a pseudorandom the first seed, of a scatter the first number. Left out, it is the one after the greatest key in the table, or 1. coprime: from where the first step is made, 0 by default.",
		judged[int64](0), func(s *Source) *int64 { return &s.Start }),
	of("below", "sequence: the first integer that it does not give, since the column's own counter (AUTO_INCREMENT, serial, IDENTITY, AUTOINCREMENT) gives those from there on. The engine is asked whether its counter stands there.",
		judged[int64](leastBelow), func(s *Source) *int64 { return &s.Below }),
	of("length", "coprime: how many characters a key has. composite: 20 (default) or 24.",
		judged(1), func(s *Source) *int { return &s.Length }),
	of("alphabet", "coprime: base62, base32, or the characters themselves. Left out, it is the first where text compares by case (PostgreSQL, Oracle, SQLite), and the second elsewhere.",
		text, func(s *Source) *string { return &s.Alphabet }),
	of("k", "coprime: how far a step goes, without a divisor in common with the number of keys. Left out, it is chosen.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.K }),
	of("grow", "coprime: whether keys have one character more when all are used.",
		boolean, func(s *Source) *bool { return &s.Grow }),
	of("collation", "coprime: binary, that the column compares byte for byte.",
		word[string](fieldWhat("collation"), collationWords), func(s *Source) *string { return &s.Collation }),
	of("key", "scatter: any text, on which the order depends. Left out, it is the name of the state.",
		text, func(s *Source) *string { return &s.Key }),
	of("ensure_schema", "Whether the tables of the store are created.",
		boolean, func(s *Source) *bool { return &s.EnsureSchema }),
	of("create", "Whether a missing row of the store is made. Left out, it is what ensure_schema says.",
		optional(boolean), func(s *Source) **bool { return &s.Create }),
	of("exclusive", "That nothing else fills the column, although another source or a default of the column could.",
		boolean, func(s *Source) *bool { return &s.Exclusive }),
	of("follow_explicit", "Whether keys that INSERTs bring move the store above them.",
		boolean, func(s *Source) *bool { return &s.FollowExplicit }),
	of("on_behind", "What happens when there are greater keys in the table: error (default), advance (sequence and recycled; the default of those that follow explicit keys) or warn.",
		word[keysource.Remedy](fieldWhat("on_behind"), remedies), func(s *Source) *keysource.Remedy { return &s.OnBehind }),
	of("on_store_rollback", "What happens when the store has gone back: error (default) or advance.",
		word[keysource.Remedy](fieldWhat("on_store_rollback"), rollbackRemedies), func(s *Source) *keysource.Remedy { return &s.OnStoreRollback }),
	of("worker", "The number of this process among all that fill the table; of a composite from 0 to 999.",
		optional(atLeast(0)), func(s *Source) **int { return &s.Worker }),
	of("worker_env", "The environment variable that holds the worker's number.",
		text.matching(variablePattern), func(s *Source) *string { return &s.WorkerEnv }),
	of("worker_ordinal", "Whether the worker's number is what the host's name ends in, as in web-0.",
		boolean, func(s *Source) *bool { return &s.WorkerOrdinal }),
	of("worker_lease", "How long the worker's number is leased from the store without saying so again, such as 30s, instead of being given.",
		durationShape, func(s *Source) *time.Duration { return &s.WorkerLease }),
	of("spread", "composite: the name of a value from 0 to 999 that comes with the execution, instead of a worker's number.",
		text.matching(sourceNamePattern), func(s *Source) *string { return &s.Spread }),
	of("bits", "How many bits a key has, 63 (default) or 53.",
		choice("bits", snowflakeWidths), func(s *Source) *int { return &s.Bits }),
	of("time_bits", "Bits of the time, with worker_bits and sequence_bits instead of bits.",
		atLeast(1), func(s *Source) *int { return &s.TimeBits }),
	of("worker_bits", "Bits of the worker's number.",
		atLeast(0), func(s *Source) *int { return &s.WorkerBits }),
	of("sequence_bits", "Bits of the number of a key within a unit of time.",
		atLeast(0), func(s *Source) *int { return &s.SequenceBits }),
	of("unit", "The unit of time beside time_bits, 1ms (default) to 1s.",
		unitShape, func(s *Source) *time.Duration { return &s.Unit }),
}

// namesKind reports whether a text begins with the name of a kind.
func namesKind(doc string) bool {
	name, _, found := strings.Cut(doc, ":")
	return found && kindByName(name) != nil
}

// kindDocs returns "uuidv7: UUIDs that ascend with time; …".
func kindDocs() string {
	var docs []string
	for _, k := range kinds {
		docs = append(docs, k.name+": "+k.doc)
	}
	return strings.Join(docs, "; ") + "."
}
