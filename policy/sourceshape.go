package policy

import "strings"

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

// ownFields are the fields of a source except kind, in the order of the reference.
var ownFields = []*sourceField{
	epochField, prefixField, nameField, storeField, upstreamField,
	upstreamBlockField, upstreamLastsField, transactionField, scopeField,
	lockField, viaField, procedureField, tableField,
	sequenceField, blockField, minBlockField, maxBlockField,
	seriesField, leaseField, startField, belowField,
	startAtField, skipRangeField, formatField, periodField,
	maxLengthField, lengthField, alphabetField, kField,
	growField, collationField, keyField,
	namespaceField, fromField, ensureSchemaField, createField, exclusiveField, followExplicitField,
	onBehindField, onStoreRollbackField, workerField, workerEnvField,
	workerOrdinalField, workerLeaseField, spreadField, bitsField,
	timeBitsField, workerBitsField, sequenceBitsField, unitField,
}

// sourceFields are all fields of a source. The schema's description of each begins with
// the kinds that have it.
var sourceFields = func() []field[Source] {
	fields := []field[Source]{
		must("kind: sequence", bind("kind", "How the keys are made.",
			kindShape(), func(s *Source) *string { return &s.Kind })).as("sequence"),
	}
	for _, f := range ownFields {
		said := f.field
		said.schema = said.schema.with("description", strings.Join(kindsWith(f.name), ", ")+": "+said.schema["description"].(string))
		fields = append(fields, said)
	}
	return fields
}()

// kindShape is the shape (type of a value in the file) of the name of a kind. Its schema
// describes what each kind makes.
func kindShape() shape[string] {
	s := word[string]("kind", kindNames())
	var each []schema
	for _, k := range kinds {
		each = append(each, schema{"const": k.name, "description": k.doc})
	}
	s.schema = schema{"oneOf": each}
	return s
}
