package keyfillotel_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/XSAM/otelsql"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillotel"
)

// shown returns the attributes of a span, or of an event, that otelsql did not set.
func shown(span tracetest.SpanStub) string {
	var all []string
	for _, a := range span.Attributes {
		if strings.HasPrefix(string(a.Key), "keyfill.") || a.Key == "db.collection.name" || a.Key == "db.operation.name" {
			all = append(all, fmt.Sprintf("%s=%v", a.Key, a.Value.AsInterface()))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// openTraced opens a new database with otelsql, whose spans are exported to the result.
func openTraced(t *testing.T) (*sql.DB, *keyfill.Connector, *tracetest.InMemoryExporter, trace.TracerProvider) {
	t.Helper()
	spans := tracetest.NewInMemoryExporter()
	provider := keyfillotel.TracerProvider(sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans)))
	ours, _ := wrapped(t)
	db := otelsql.OpenDB(ours, otelsql.WithTracerProvider(provider))
	create(t, db)
	return db, ours, spans, provider
}

// TestSpans: with otelsql the span of each INSERT has the attributes of its table and of
// what keyfill did.
func TestSpans(t *testing.T) {
	db, _, spans, _ := openTraced(t)
	for _, c := range []struct {
		query, span string
		works       bool
		want        string
	}{
		{"INSERT INTO customers (note) VALUES ('a'), ('b')", "sql.conn.exec", true,
			"db.collection.name=customers db.operation.name=INSERT keyfill.action=fill keyfill.entry=customers keyfill.keys=2 keyfill.outcome=stored keyfill.source.kind=uuidv7 keyfill.source.name=customers.id"},
		{"INSERT INTO customers (note) VALUES ('a')", "sql.conn.exec", false,
			"db.collection.name=customers db.operation.name=INSERT keyfill.action=fill keyfill.entry=customers keyfill.keys=1 keyfill.outcome=failed keyfill.reason=engine keyfill.source.kind=uuidv7 keyfill.source.name=customers.id"},
		{"INSERT INTO log_a (note) VALUES ('a')", "sql.conn.exec", true,
			"db.collection.name=log_a db.operation.name=INSERT keyfill.action=fill keyfill.entry=log_* keyfill.keys=1 keyfill.outcome=stored keyfill.source.kind=ulid keyfill.source.name=log_*.id"},
		{"INSERT INTO customers (note) SELECT 'd', 'e'", "sql.conn.exec", false,
			"db.collection.name=customers db.operation.name=INSERT keyfill.action=refuse keyfill.entry=customers keyfill.outcome=refused keyfill.reason=column_count"},
		{"INSERT INTO customers (id, note) VALUES ('k', 'c')", "sql.conn.exec", true,
			"db.collection.name=customers db.operation.name=INSERT keyfill.action=keep keyfill.entry=customers keyfill.outcome=kept"},
		{"INSERT INTO other (note) VALUES ('a')", "sql.conn.exec", true, ""},
		{"UPDATE other SET note = 'b'", "sql.conn.exec", true, ""},
	} {
		spans.Reset()
		do(t, db, c.query, c.works)
		found := false
		for _, span := range spans.GetSpans() {
			if span.Name != c.span {
				continue
			}
			found = true
			if got := shown(span); got != c.want {
				t.Errorf("%s: the span has\n%s, want\n%s", c.query, got, c.want)
			}
			for _, a := range span.Attributes {
				if a.Key == "db.query.text" && a.Value.AsString() != c.query {
					t.Errorf("%s: the span shows the text %q", c.query, a.Value.AsString())
				}
			}
		}
		if !found {
			t.Errorf("%s has no span %s", c.query, c.span)
		}
	}
}

// TestSpanOfRows: the span of a query has the attributes of its INSERT, although it ends
// before the rows are read; one that lasts longer gets the outcome too, and no second INSERT.
func TestSpanOfRows(t *testing.T) {
	db, ours, spans, provider := openTraced(t)
	const known = "db.collection.name=customers db.operation.name=INSERT keyfill.action=fill keyfill.entry=customers keyfill.keys=1"
	const source = " keyfill.source.kind=uuidv7 keyfill.source.name=customers.id"
	var id string
	if err := db.QueryRow("INSERT INTO customers (note) VALUES ('a') RETURNING id").Scan(&id); err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, span := range spans.GetSpans() {
		if span.Name != "sql.conn.query" {
			continue
		}
		found++
		if got := shown(span); got != known+source {
			t.Errorf("the span has\n%s, want\n%s", got, known+source)
		}
	}
	if found != 1 {
		t.Errorf("there are %d spans of a query, want 1", found)
	}

	spans.Reset()
	plain := sql.OpenDB(ours)
	defer func() { _ = plain.Close() }()
	ctx, span := provider.Tracer("test").Start(context.Background(), "order")
	if err := plain.QueryRowContext(ctx, "INSERT INTO customers (note) VALUES ('b') RETURNING id").Scan(&id); err != nil {
		t.Fatal(err)
	}
	span.End()
	got := spans.GetSpans()[0]
	if want := known + " keyfill.outcome=stored" + source; shown(got) != want || len(got.Events) != 0 {
		t.Errorf("the span has\n%s and the events %v, want\n%s", shown(got), got.Events, want)
	}
}

// TestSeveralInserts: the second INSERT of a text is an event of the span.
func TestSeveralInserts(t *testing.T) {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	db, _ := open(t)
	ctx, span := provider.Tracer("test").Start(context.Background(), "both")
	ctx = keyfill.WithTrace(ctx, keyfillotel.Tell(span))
	for _, query := range []string{"INSERT INTO orders (note) VALUES ('a')", "INSERT INTO customers (note) VALUES ('a')", "INSERT INTO other (note) VALUES ('a')"} {
		if _, err := db.ExecContext(ctx, query); err != nil {
			t.Fatal(err)
		}
	}
	span.End()
	got := spans.GetSpans()[0]
	if !strings.Contains(shown(got), "db.collection.name=orders") {
		t.Errorf("the span has %s, want the first table", shown(got))
	}
	if len(got.Events) != 1 || got.Events[0].Name != "keyfill.insert" ||
		!strings.Contains(shown(tracetest.SpanStub{Attributes: got.Events[0].Attributes}), "db.collection.name=customers") {
		t.Errorf("the span has the events %+v, want one for the second table", got.Events)
	}
	// What ends later changes nothing, and does not panic.
	if _, err := db.ExecContext(ctx, "INSERT INTO orders (note) VALUES ('b')"); err != nil {
		t.Fatal(err)
	}
}

// TestUnsampled: a span that records nothing leaves INSERTs on their short way.
func TestUnsampled(t *testing.T) {
	provider := sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))
	ctx, span := keyfillotel.TracerProvider(provider).Tracer("test").Start(context.Background(), "none")
	defer span.End()
	plain, other := provider.Tracer("test").Start(context.Background(), "none")
	defer other.End()
	if got, want := fmt.Sprintf("%T", ctx), fmt.Sprintf("%T", plain); got != want || strings.Count(fmt.Sprint(ctx), "keyfill") > 0 {
		t.Errorf("the context is %v, want %v", ctx, plain)
	}
}
