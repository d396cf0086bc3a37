package faults_test

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/keyfill/keyfill/e2e/internal/harness"
)

// faultEngines are those that the tests of faults run on.
var faultEngines = []harness.Engine{harness.MySQLDefault, harness.PgxDefault, harness.SQLiteFile}

// soak returns a value of the environment in a long run, and the short one
// else.
func soak[T any](t *testing.T, short T, variable string, parse func(string) (T, error)) T {
	t.Helper()
	if !harness.Soaking() {
		return short
	}
	long, err := parse(os.Getenv(variable))
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return long
}

// raging is for how long processes are killed, with make soak by KEYFILL_SOAK_TIME.
func raging(t *testing.T, short time.Duration) time.Duration {
	t.Helper()
	return soak(t, short, "KEYFILL_SOAK_TIME", time.ParseDuration)
}

// TestFaultKill: 4 processes with 4 connections each are killed after 100 to 500
// milliseconds, and others take their places, for half a second. With make soak 8 are,
// for KEYFILL_SOAK_TIME.
func TestFaultKill(t *testing.T) {
	t.Parallel()
	eachFaultKind(t, faultEngines, func(t *testing.T, e harness.Engine, k faultKind) {
		w := k.swarm(t, e)
		life := between(100*time.Millisecond, 500*time.Millisecond)
		if k.workers && e.Server == nil {
			// Without a store it begins a second after the start.
			life = between(1100*time.Millisecond, 1600*time.Millisecond)
		}
		w.tolerable = isDeadlock // of transactions with several parents
		places := 4
		if harness.Soaking() {
			places = 8
		}
		w.rage(places, raging(t, time.Second/2), life)
		w.check()
		wantAtLeast(t, "processes killed", w.kills, 4)
	})
}

// TestFaultSameWorker: two processes have one worker's number, and are killed.
// The store keeps their keys apart.
func TestFaultSameWorker(t *testing.T) {
	t.Parallel()
	for _, e := range harness.ByTurns(t, faultEngines[:2]) {
		for _, k := range slices.DeleteFunc(faultKinds(e), func(k faultKind) bool { return !k.numbered() }) {
			runFaultKind(t, e, k, sameWorker)
		}
	}
}

func sameWorker(t *testing.T, e harness.Engine, k faultKind) {
	k.source.Worker = new(7)
	w := k.swarm(t, e)
	w.rage(2, raging(t, time.Second), between(100*time.Millisecond, 500*time.Millisecond))
	w.check()
	wantAtLeast(t, "processes killed", w.kills, 4)
}
