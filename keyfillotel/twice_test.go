package keyfillotel_test

import (
	"errors"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/metric"

	"github.com/keyfill/keyfill/keyfillotel"
)

// wrappedMeter is a meter of a program, as a value that cannot be compared.
type wrappedMeter struct {
	metric.Meter
	_ []string
}

// TestRegisterTwice: the figures of a mount that is registered with a meter twice would
// count twice, which is an error. What else may be registered is not.
func TestRegisterTwice(t *testing.T) {
	t.Parallel()
	_, m := wrapped(t)
	_, other := wrapped(t)
	provider := sdk.NewMeterProvider(sdk.WithReader(sdk.NewManualReader()))
	shop, a, b := provider.Meter("shop"), attribute.String("db.namespace", "a"), attribute.String("db.namespace", "b")
	first, err := keyfillotel.Register(shop, m, a)
	if err != nil {
		t.Fatal(err)
	}
	for name, meter := range map[string]metric.Meter{"the meter": shop, "the meter, asked for again": provider.Meter("shop")} {
		if r, err := keyfillotel.Register(meter, m, a); !errors.Is(err, keyfillotel.ErrRegistered) || r != nil {
			t.Errorf("%s: %v, want ErrRegistered", name, err)
		}
	}
	for name, register := range map[string]func() (metric.Registration, error){
		"another mount":    func() (metric.Registration, error) { return keyfillotel.Register(shop, other, a) },
		"other attributes": func() (metric.Registration, error) { return keyfillotel.Register(shop, m, b) },
		"another meter":    func() (metric.Registration, error) { return keyfillotel.Register(provider.Meter("parcels"), m, a) },
		"another provider": func() (metric.Registration, error) {
			return keyfillotel.Register(sdk.NewMeterProvider().Meter("shop"), m, a)
		},
		"no meter":                  func() (metric.Registration, error) { return keyfillotel.Register(noop.Meter{}, m, a) },
		"no meter, again":           func() (metric.Registration, error) { return keyfillotel.Register(noop.Meter{}, m, a) },
		"one that is not compared":  func() (metric.Registration, error) { return keyfillotel.Register(wrappedMeter{Meter: shop}, m, b) },
		"and once more, not to end": func() (metric.Registration, error) { return keyfillotel.Register(wrappedMeter{Meter: shop}, m, b) },
	} {
		if _, err := register(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for range 2 {
		if err := first.Unregister(); err != nil {
			t.Fatal(err)
		}
		if first, err = keyfillotel.Register(shop, m, a); err != nil {
			t.Fatalf("after Unregister: %v", err)
		}
	}
}
