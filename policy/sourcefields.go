package policy

import (
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

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

// of returns the field of a source called name, as [bind] does; the schema begins with
// the kinds too.
func of[V comparable](name, doc string, s shape[V], to func(s *Source) *V) sourceKey {
	return sourceKey{
		field: bind(name, strings.Join(kindsWith(name), ", ")+": "+doc, s, to),
		isSet: func(s *Source) bool {
			var zero V
			return *to(s) != zero
		},
	}
}

var sourceFields = func() []field[Source] {
	fields := []field[Source]{
		must("kind: sequence", bind("kind", "How the keys are made.",
			kindShape(), func(s *Source) *string { return &s.Kind })).as("sequence"),
	}
	for _, k := range sourceKeys {
		fields = append(fields, k.field)
	}
	return fields
}()

// kindShape is the shape of a kind, whose schema says what each kind makes.
func kindShape() shape[string] {
	s := word[string]("kind", kindNames())
	var each []schema
	for _, k := range kinds {
		each = append(each, schema{"const": k.name, "description": k.doc})
	}
	s.schema = schema{"oneOf": each}
	return s
}

const otherNumber = " Left out, another field gives the number."

var sourceKeys = []sourceKey{
	of("epoch", "From when the time in a key counts. A comb counts from dotnet (0001-01-01) or unix (1970-01-01), a snowflake from a day in UTC. Left out, it is dotnet for a comb and 2020-01-01 for a snowflake.",
		epochShape, func(s *Source) *keysource.Epoch { return &s.Epoch }).as("unix", "2024-01-01"),
	of("name", "The name of the state, which may hold {schema}, {table} and {value:x}. Left out, it is the name of the entry of sources; for a source in place it is table.column.",
		text, func(s *Source) *string { return &s.Name }).as("{table}.{value:tenant}"),
	of("store", "Where the state is kept: the name of an entry of stores, or none, for a snowflake or composite whose state is kept nowhere. Left out, it is the application's own database.",
		text.matching(sourceNamePattern), func(s *Source) *string { return &s.Store }).as("central"),
	of("upstream", "The store that the state in the application's own database gets its integers from, in blocks that last while that store is down: the name of an entry of stores. Left out, the state has all integers to itself.",
		text.matching(sourceNamePattern), func(s *Source) *string { return &s.Upstream }).as("central"),
	of("upstream_block", "How many integers a block of upstream has. Left out, it follows the use, as upstream_lasts says.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.UpstreamBlock }).as(100_000),
	of("upstream_lasts", "How long a block of upstream is to last, from 1s to 24h: the store may be down for as long.",
		durationShape, func(s *Source) *time.Duration { return &s.UpstreamLasts }).byDefault("1m").as("10m"),
	of("transaction", "In which transaction numbers are reserved. autonomous: in one of their own, so that a rollback leaves a gap; joined: in the statement's, without gaps, and one transaction at a time. With scope it is joined.",
		word[string](fieldWhat("transaction"), transactionWords), func(s *Source) *string { return &s.Transaction }).byDefault("autonomous").as("joined"),
	of("scope", "The columns within whose values rows are numbered, each a name or {column, type}. Left out, there is one numbering for the table.",
		scopeShape(), func(s *Source) **Scope { return &s.Scope }).as([]string{"order_id"}),
	of("lock", "How a number is taken that others may be taking. pessimistic: the row of the state is locked before it is read; optimistic: the row is changed if it is as it was read; range, for maxplusone: one statement at a time; none, for maxplusone: without a lock. Left out, it is range for maxplusone, optimistic for a coprime with table, and pessimistic elsewhere.",
		word[string](fieldWhat("lock"), lockWords), func(s *Source) *string { return &s.Lock }).as("optimistic"),
	of("via", "What reserves the numbers. table: statements; procedure: a stored procedure.",
		word[string](fieldWhat("via"), viaWords), func(s *Source) *string { return &s.Via }).byDefault("table").as("procedure"),
	of("procedure", "The stored procedure, with via: procedure.",
		text, func(s *Source) *string { return &s.Procedure }).byDefault("keyfill_reserve").as("shop.reserve_numbers"),
	of("table", "An existing table that holds the state, as other programs have made it. Left out, it is keyfill's own table.",
		optional(keyTableShape()), func(s *Source) **KeyTable { return &s.Table }).
		as(schema{"name": "KEYS", "key": "tableName", "value": "serial", "stored": "last"}),
	of("sequence", "The engine's sequence, written as in SQL. Left out, it is the column's own.",
		text, func(s *Source) *string { return &s.Sequence }).as("order_seq"),
	of("block", "How many integers are reserved at a time; for native, by how many the engine's sequence increments. Left out, it is 1 for native, and elsewhere it follows the use between min_block and max_block.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.Block }).as(250),
	of("min_block", "How many integers are reserved at a time at least, where block is left out.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.MinBlock }).byDefault(10).as(50),
	of("max_block", "How many integers are reserved at a time at most, where block is left out.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.MaxBlock }).byDefault(1_000_000).as(5000),
	of("series", "How many integers a process owns at a time.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.Series }).byDefault(defaultSeries).as(100_000),
	of("lease", "How long a process owns a series without saying so again, from 1s to 1h.",
		durationShape, func(s *Source) *time.Duration { return &s.Lease }).byDefault("30s").as("1m"),
	of("start", "The first integer; for a pseudorandom the first seed, for a scatter the first number, for a coprime the number from which the first step is made. Left out, it is 1 for a pseudorandom and a scatter, 0 for a coprime, and elsewhere the integer after the greatest key in the table.",
		judged[int64](0), func(s *Source) *int64 { return &s.Start }).as(1001),
	of("below", "The first integer that the sequence does not give, since the column's own counter (AUTO_INCREMENT, serial, IDENTITY, AUTOINCREMENT) gives the integers from there on. The engine is asked whether its counter stands there. Left out, the column has no such counter.",
		judged[int64](leastBelow), func(s *Source) *int64 { return &s.Below }).as(1_000_000_000),
	of("start_at", "The least integer that the sequence gives, in the place of start. Another sequence that fills the column goes on below it in processes that still have it: keyfill writes that end into its row, and refuses a start_at that it has passed. Left out, a column has one sequence at a time.",
		judged[int64](leastStartAt), func(s *Source) *int64 { return &s.StartAt }).as(3_000_000_000),
	of("skip_range", "The first and the last of the integers that the sequence does not give, since a generator outside of keyfill gives them. Keys among them do not count as the greatest key. Left out, the sequence gives all.",
		rangeShape, func(s *Source) *Range { return &s.SkipRange }).as([]int64{2_000_000_000, 2_999_999_999}),
	of("length", "How many characters a key has; a composite has 20 or 24. Left out, it is 20 for a composite; a coprime has to say it.",
		judged(1), func(s *Source) *int { return &s.Length }).as(6, 24),
	of("alphabet", "The characters of a key: base62, base32, or the characters themselves. Left out, it is base62 where text compares by case (PostgreSQL, Oracle, SQLite, collation: binary) and base32 elsewhere.",
		text, func(s *Source) *string { return &s.Alphabet }).as("base32"),
	of("k", "By how much a key differs from the one before, as a number without a divisor in common with the number of keys. Left out, keyfill chooses it.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.K }).as(202652143553),
	of("grow", "Whether keys have one character more when all keys of length are used.",
		boolean, func(s *Source) *bool { return &s.Grow }).byDefault(false).as(true),
	of("collation", "How the column compares text. binary: byte for byte. Left out, it compares as the engine does where nothing else is said.",
		word[string](fieldWhat("collation"), collationWords), func(s *Source) *string { return &s.Collation }).as("binary"),
	of("key", "Any text, on which the order of the keys depends; it must stay as it is. Left out, it is the name of the state.",
		text, func(s *Source) *string { return &s.Key }).as("shop"),
	ensureSchemaKey(),
	of("create", "Whether keyfill creates the row of the state where it is missing. Left out, it is what ensure_schema of the source says; where the file alone says that, it is true for a state without a name of its own.",
		optional(boolean), func(s *Source) **bool { return &s.Create }).as(true),
	of("exclusive", "Whether nothing else fills the column, although another source, a default or a counter of the column could.",
		boolean, func(s *Source) *bool { return &s.Exclusive }).byDefault(false).as(true),
	of("follow_explicit", "Whether the state is raised above the keys that INSERTs bring. Left out, it is so with transaction: joined, on SQLite, and where the column has AUTO_INCREMENT and the sequence says exclusive or below.",
		boolean, func(s *Source) *bool { return &s.FollowExplicit }).as(true),
	of("on_behind", "What happens when the table has greater keys than the state. error: the INSERT is an error; advance, for sequence and recycled: the state is raised above them; warn: it is logged. Left out, it is error, advance for a sequence that follows the keys that INSERTs bring and is not joined, and warn for native with block 1.",
		word[keysource.Remedy](fieldWhat("on_behind"), remedies), func(s *Source) *keysource.Remedy { return &s.OnBehind }).as("advance"),
	of("on_store_rollback", "What happens when the state has gone back. error: the INSERT is an error; advance, for all but native: the state is raised above the integers that the process has seen; warn, for native with block 1: the INSERT gets what the engine's sequence gives. Left out, it is error, and warn for native with block 1.",
		word[keysource.Remedy](fieldWhat("on_store_rollback"), remedies), func(s *Source) *keysource.Remedy { return &s.OnStoreRollback }).as("advance"),
	of("worker", "The number of this process among all that fill the table; for a composite from 0 to 999."+otherNumber,
		optional(atLeast(0)), func(s *Source) **int { return &s.Worker }).as(3),
	of("worker_env", "The environment variable that holds the worker's number."+otherNumber,
		text.matching(variablePattern), func(s *Source) *string { return &s.WorkerEnv }).as("APP_WORKER"),
	of("worker_ordinal", "Whether the worker's number is the number in which the host's name ends, as in web-0.",
		boolean, func(s *Source) *bool { return &s.WorkerOrdinal }).byDefault(false).as(true),
	of("worker_lease", "How long the worker's number is leased from the store without saying so again, from 5s to 1h."+otherNumber,
		durationShape, func(s *Source) *time.Duration { return &s.WorkerLease }).as("30s"),
	of("spread", "The name of a value from 0 to 999 that comes with the execution, instead of a worker's number. Left out, keys begin with the worker's number.",
		text.matching(sourceNamePattern), func(s *Source) *string { return &s.Spread }).as("user"),
	of("bits", "How many bits a key has: 63, or 53, which a number of JavaScript holds.",
		choice("bits", snowflakeWidths), func(s *Source) *int { return &s.Bits }).byDefault(63).as(53),
	of("time_bits", "How many bits of a key are the time, together with worker_bits and sequence_bits, and instead of bits. Left out, bits says it.",
		atLeast(1), func(s *Source) *int { return &s.TimeBits }).as(39),
	of("worker_bits", "How many bits of a key are the worker's number. Left out, bits says it.",
		atLeast(0), func(s *Source) *int { return &s.WorkerBits }).as(16),
	of("sequence_bits", "How many bits of a key are its number within a unit of time. Left out, bits says it.",
		atLeast(0), func(s *Source) *int { return &s.SequenceBits }).as(8),
	of("unit", "The unit of the time, together with time_bits, from 1ms to 1s.",
		unitShape, func(s *Source) *time.Duration { return &s.Unit }).byDefault("1ms").as("10ms"),
}

// ensureSchemaKey returns the field ensure_schema, which notes too that a file says false:
// the file's own ensure_schema does not count then.
func ensureSchemaKey() sourceKey {
	k := of("ensure_schema", "Whether keyfill creates its tables and the row of the state where they are missing. Left out, it is what the file says.",
		boolean, func(s *Source) *bool { return &s.EnsureSchema }).as(true)
	read := k.read
	k.read = func(r *reader, p place, n *yaml.Node, s *Source) {
		read(r, p, n, s)
		s.saysNoSchema = !s.EnsureSchema
	}
	return k
}

// byDefault and as are the methods of the field.
func (k sourceKey) byDefault(value any) sourceKey {
	k.field = k.field.byDefault(value)
	return k
}

func (k sourceKey) as(examples ...any) sourceKey {
	k.field = k.field.as(examples...)
	return k
}
