package keysource_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/keysource"
)

func TestSnowflakeNumber(t *testing.T) {
	const name = "KEYFILL_TEST_WORKER"
	given := func(n int) keysource.SnowflakeOptions { return keysource.SnowflakeOptions{Worker: &n} }
	inEnv := keysource.SnowflakeOptions{WorkerEnv: name}
	for _, tt := range []struct {
		name string
		o    keysource.SnowflakeOptions
		env  string
		want int
		err  string // empty: none
	}{
		{name: "none", err: "none is given"},
		{name: "0", o: given(0)},
		{name: "1023", o: given(1023), want: 1023},
		{name: "1024", o: given(1024), err: "1024 is not from 0 to 1023"},
		{name: "-1", o: given(-1), err: "-1 is not from 0 to 1023"},
		{name: "127 of 53", o: keysource.SnowflakeOptions{Bits: keysource.SnowflakeBits53(), Worker: new(127)}, want: 127},
		{name: "128 of 53", o: keysource.SnowflakeOptions{Bits: keysource.SnowflakeBits53(), Worker: new(128)},
			err: "128 is not from 0 to 127"},
		{name: "no bits, 0", o: keysource.SnowflakeOptions{Bits: keysource.SnowflakeBits{Time: 42, Sequence: 10}, Worker: new(0)}},
		{name: "no bits, 1", o: keysource.SnowflakeOptions{Bits: keysource.SnowflakeBits{Time: 42, Sequence: 10}, Worker: new(1)},
			err: "1 is not from 0 to 0"},
		{name: "env", o: inEnv, env: "17", want: 17},
		{name: "env, 0", o: inEnv, env: "0"},
		{name: "env, not set", o: inEnv, err: `"KEYFILL_TEST_WORKER" is not set`},
		{name: "env, too large", o: inEnv, env: "1024", err: "does not hold a number from 0 to 1023"},
		{name: "env, huge", o: inEnv, env: strings.Repeat("9", 40), err: "does not hold a number"},
		{name: "env, negative", o: inEnv, env: "-1", err: "does not hold a number"},
		{name: "env, signed", o: inEnv, env: "+1", err: "does not hold a number"},
		{name: "env, leading zero", o: inEnv, env: "01", err: "does not hold a number"},
		{name: "env, spaces", o: inEnv, env: " 1", err: "does not hold a number"},
		{name: "env, a secret", o: inEnv, env: "hunter2", err: "does not hold a number"},
		{name: "two", o: keysource.SnowflakeOptions{Worker: new(1), WorkerEnv: name}, env: "1", err: "more than one is given"},
		{name: "two others", o: keysource.SnowflakeOptions{WorkerEnv: name, Ordinal: true}, env: "1", err: "more than one is given"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv(name, tt.env)
			got, err := tt.o.Number()
			if tt.err == "" {
				if err != nil || got != tt.want {
					t.Errorf("Number() = %d, %v, want %d", got, err, tt.want)
				}
				return
			}
			if !errors.Is(err, keysource.ErrOptions) || !strings.Contains(err.Error(), tt.err) {
				t.Fatalf("Number() = %d, %v, want ErrOptions: … %s …", got, err, tt.err)
			}
			if strings.Contains(err.Error(), "hunter2") {
				t.Errorf("the error repeats the variable: %v", err)
			}
		})
	}
}

func TestOrdinal(t *testing.T) {
	for _, tt := range []struct {
		host string
		want int
		err  string // empty: none
	}{
		{host: "web-0"},
		{host: "web-17", want: 17},
		{host: "order-service-3", want: 3},
		{host: "web-3.web.default.svc.cluster.local", want: 3},
		{host: "web-1023", want: 1023},
		{host: "web-1024", err: "is not from 0 to 1023"},
		{host: "web", err: "does not end in -N"},
		{host: "web3", err: "does not end in -N"},
		{host: "3", err: "does not end in -N"},
		{host: "-3", err: "does not end in -N"},
		{host: "web-", err: "does not end in -N"},
		{host: "web-03", err: "does not end in -N"},
		{host: "web-7d9c5-x2lpq", err: "does not end in -N"}, // of a Deployment
		{host: "", err: "does not end in -N"},
		{host: ".web-3", err: "does not end in -N"},
	} {
		t.Run(tt.host, func(t *testing.T) {
			got, err := keysource.OrdinalOf(tt.host, 1024)
			switch {
			case tt.err == "" && (err != nil || got != tt.want):
				t.Errorf("got %d, %v, want %d", got, err, tt.want)
			case tt.err != "" && (!errors.Is(err, keysource.ErrOptions) || !strings.Contains(err.Error(), tt.err)):
				t.Errorf("got %d, %v, want ErrOptions: … %s …", got, err, tt.err)
			}
		})
	}
}

// TestOrdinalLimit: of as many numbers as a composite key has.
func TestOrdinalLimit(t *testing.T) {
	if _, err := keysource.OrdinalOf("web-1000", 1000); !errors.Is(err, keysource.ErrOptions) {
		t.Errorf("ordinal 1000: %v", err)
	}
}

// TestSnowflakeOrdinal: the option reads this machine's name, as OrdinalOf reads any.
func TestSnowflakeOrdinal(t *testing.T) {
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	o := keysource.SnowflakeOptions{Ordinal: true}
	got, err := o.Number()
	want, wantErr := keysource.OrdinalOf(host, 1024)
	switch {
	case wantErr == nil && (err != nil || got != want):
		t.Errorf("Number() = %d, %v, want %d", got, err, want)
	case wantErr != nil && (!errors.Is(err, keysource.ErrOptions) || !strings.Contains(err.Error(), "the host's name")):
		t.Errorf("Number() = %d, %v, want what the host's name lacks", got, err)
	}
}
