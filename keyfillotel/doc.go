// Package keyfillotel reports to OpenTelemetry what keyfill does: the counts of a mount
// as metrics, and each INSERT in the attributes of its span. See [TracerProvider] for
// spans.
//
//	m, err := keyfill.From(db)
//	_, err = keyfillotel.Register(otel.Meter("shop"), m, semconv.DBNamespace("shop"))
//
// [NewProducer] adds how long fetches took, as a histogram.
//
// The metrics are read from [keyfill.Mount.Stats] and [keyfill.Mount.Sources] when they
// are collected. Nothing is sent to a database, and INSERTs are counted with or without a
// collector. db.client.operation.duration is not among them: otelsql emits it.
//
// The attribute keyfill.entry is an entry of the policy, such as "orders" or "log_*", and
// never the name of a real table; keyfill.source.name is a source of the policy. Neither a
// glob nor a schema for each tenant makes a new time series.
package keyfillotel
