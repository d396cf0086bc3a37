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

// of returns the field of a source called name, as [bind] does; doc begins with
// the kinds.
func of[V comparable](name, doc string, s shape[V], to func(s *Source) *V) sourceKey {
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
		must(bind("kind", "How the keys are made. "+kindDocs(),
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
	of("name", "sequence, snowflake: the name of the state, which may hold {schema}, {table} and {value:x}. Left out, it is the name of the source, or table.column.",
		text, func(s *Source) *string { return &s.Name }),
	of("store", "sequence, snowflake: where the state is kept, the name of an entry of stores; left out, the application's own database. snowflake: or none.",
		text.matching(sourceNamePattern), func(s *Source) *string { return &s.Store }),
	of("block", "sequence: how many integers are reserved at a time. Left out, it follows the use.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.Block }),
	of("min_block", "sequence: the least number that follows the use, 10 by default.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.MinBlock }),
	of("max_block", "sequence: the greatest number that follows the use, 1000000 by default.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.MaxBlock }),
	of("start", "sequence: the first integer. Left out, it is the one after the greatest key in the table.",
		atLeast[int64](1), func(s *Source) *int64 { return &s.Start }),
	of("ensure_schema", "sequence, snowflake: whether the tables of the store are created.",
		boolean, func(s *Source) *bool { return &s.EnsureSchema }),
	of("create", "sequence: whether a missing row of the store is made. Left out, it is what ensure_schema says.",
		optional(boolean), func(s *Source) **bool { return &s.Create }),
	of("exclusive", "sequence, snowflake: that nothing else fills the column, although another source or a default of the column could.",
		boolean, func(s *Source) *bool { return &s.Exclusive }),
	of("follow_explicit", "sequence: whether keys that INSERTs bring move the store above them.",
		boolean, func(s *Source) *bool { return &s.FollowExplicit }),
	of("on_behind", "sequence, snowflake: what happens when there are greater keys in the table: error (default), advance (sequence only) or warn.",
		word[keysource.Remedy](remedyWhat("on_behind"), remedies), func(s *Source) *keysource.Remedy { return &s.OnBehind }),
	of("on_store_rollback", "sequence: what happens when the store has gone back: error (default) or advance.",
		word[keysource.Remedy](remedyWhat("on_store_rollback"), rollbackRemedies), func(s *Source) *keysource.Remedy { return &s.OnStoreRollback }),
	of("worker", "snowflake: the number of this process among all that fill the table.",
		optional(atLeast(0)), func(s *Source) **int { return &s.Worker }),
	of("worker_env", "snowflake: the environment variable that holds the worker's number.",
		text.matching(variablePattern), func(s *Source) *string { return &s.WorkerEnv }),
	of("worker_ordinal", "snowflake: whether the worker's number is what the host's name ends in, as in web-0.",
		boolean, func(s *Source) *bool { return &s.WorkerOrdinal }),
	of("bits", "snowflake: how many bits a key has, 63 (default) or 53.",
		choice("bits", snowflakeWidths), func(s *Source) *int { return &s.Bits }),
	of("time_bits", "snowflake: bits of the time, with worker_bits and sequence_bits instead of bits.",
		atLeast(1), func(s *Source) *int { return &s.TimeBits }),
	of("worker_bits", "snowflake: bits of the worker's number.",
		atLeast(0), func(s *Source) *int { return &s.WorkerBits }),
	of("sequence_bits", "snowflake: bits of the number of a key within a unit of time.",
		atLeast(0), func(s *Source) *int { return &s.SequenceBits }),
	of("unit", "snowflake: the unit of time beside time_bits, 1ms (default) to 1s.",
		unitShape, func(s *Source) *time.Duration { return &s.Unit }),
}

// kindDocs returns "uuidv7: UUIDs that ascend with time; …".
func kindDocs() string {
	var docs []string
	for _, k := range kinds {
		docs = append(docs, k.name+": "+k.doc)
	}
	return strings.Join(docs, "; ") + "."
}
