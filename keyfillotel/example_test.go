package keyfillotel_test

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/XSAM/otelsql"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillotel"
	"github.com/keyfill/keyfill/policy"
)

// openShop opens a database in memory with the table orders, with or without otelsql
// around keyfill.
func openShop(around ...otelsql.Option) *sql.DB {
	cfg, err := policy.Parse([]byte("version: 1\ntables: {orders: {column: id, source: uuidv7}}\n"))
	if err != nil {
		panic(err)
	}
	ours, err := keyfill.WrapConnector(connector{":memory:"}, keyfill.Options{Policy: cfg})
	if err != nil {
		panic(err)
	}
	db := sql.OpenDB(ours)
	if len(around) > 0 {
		db = otelsql.OpenDB(ours, around...)
	}
	db.SetMaxOpenConns(1) // a database in memory belongs to its connection
	if _, err := db.Exec("CREATE TABLE orders (id TEXT PRIMARY KEY, note TEXT)"); err != nil {
		panic(err)
	}
	return db
}

func ExampleRegister() {
	db := openShop()
	defer db.Close()
	m, err := keyfill.From(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := sdkmetric.NewManualReader()
	meter := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader)).Meter("shop")
	registration, err := keyfillotel.Register(meter, m, attribute.String("db.namespace", "shop"))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = registration.Unregister() }()

	if _, err := db.Exec("INSERT INTO orders (note) VALUES ('a'), ('b')"); err != nil {
		fmt.Println(err)
	}
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		fmt.Println(err)
	}
	for _, metric := range all.ScopeMetrics[0].Metrics {
		if sum, ok := metric.Data.(metricdata.Sum[int64]); ok && metric.Name == "keyfill.keys" {
			fmt.Println(metric.Name, sum.DataPoints[0].Value)
		}
	}
	// Output: keyfill.keys 2
}

func ExampleNewProducer() {
	cfg, err := policy.Parse([]byte("version: 1\ntables: {orders: {column: id, source: {kind: sequence, ensure_schema: true}}}\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	db, err := keyfill.OpenDB(connector{":memory:"}, keyfill.Options{Policy: cfg})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer db.Close()
	m, err := keyfill.From(db)
	if err != nil {
		fmt.Println(err)
		return
	}
	reader := sdkmetric.NewManualReader(sdkmetric.WithProducer(keyfillotel.NewProducer(m)))
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	defer provider.Shutdown(context.Background())
	var all metricdata.ResourceMetrics
	if err := reader.Collect(context.Background(), &all); err != nil {
		fmt.Println(err)
	}
	fmt.Println(len(all.ScopeMetrics), "histograms before the first fetch")
	// Output: 0 histograms before the first fetch
}

func ExampleTracerProvider() {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	db := openShop(otelsql.WithTracerProvider(keyfillotel.TracerProvider(provider)))
	defer db.Close()
	if _, err := db.Exec("INSERT INTO orders (note) VALUES ('a')"); err != nil {
		fmt.Println(err)
	}
	all := spans.GetSpans()
	for _, a := range all[len(all)-1].Attributes {
		if a.Key == "db.collection.name" || a.Key == "keyfill.outcome" {
			fmt.Println(a.Key, a.Value.AsString())
		}
	}
	// Output:
	// db.collection.name orders
	// keyfill.outcome stored
}

// A program without otelsql reports to a span of its own.
func ExampleTell() {
	spans := tracetest.NewInMemoryExporter()
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(spans))
	db := openShop()
	defer db.Close()
	ctx, span := provider.Tracer("shop").Start(context.Background(), "order")
	ctx = keyfill.WithTrace(ctx, keyfillotel.Tell(span))
	if _, err := db.ExecContext(ctx, "INSERT INTO orders (note) VALUES ('a')"); err != nil {
		fmt.Println(err)
	}
	span.End()
	for _, a := range spans.GetSpans()[0].Attributes {
		if a.Key == "keyfill.source.kind" {
			fmt.Println(a.Key, a.Value.AsString())
		}
	}
	// Output: keyfill.source.kind uuidv7
}

// A program with a log instead of spans.
func ExampleAttributes() {
	db := openShop()
	defer db.Close()
	ctx := keyfill.WithTrace(context.Background(), func(e keyfill.Event) {
		for _, a := range keyfillotel.Attributes(e) {
			fmt.Println(a.Key, a.Value.String())
		}
	})
	if _, err := db.ExecContext(ctx, "INSERT INTO orders (id, note) VALUES ('k', 'a')"); err != nil {
		fmt.Println(err)
	}
	// Output:
	// db.collection.name orders
	// db.operation.name INSERT
	// keyfill.entry orders
	// keyfill.action keep
	// keyfill.outcome kept
}
