//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/keyfill/keyfill/internal/sqllog"
)

// cpuTime returns how long the process has computed, which does not depend on what else
// the machine does.
func cpuTime(t testing.TB) time.Duration {
	t.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		t.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// BenchmarkExplainLog explains a log of a million lines, by the command as it is run:
//
//	go test -run '^$' -bench ExplainLog -benchtime 1x ./cmd/keyfill
func BenchmarkExplainLog(b *testing.B) {
	const lines = 1_000_000
	config := writeFile(b, "keyfill.yaml", testPolicy)
	for _, format := range sqllog.Formats() {
		b.Run(string(format), func(b *testing.B) {
			file, dialect := logOf(b, format, lines)
			began := cpuTime(b)
			b.ResetTimer()
			for b.Loop() {
				r := keyfillRun(b, "", "explain", "--config", config, "--dialect", dialect, "-f", file)
				if r.code != 0 || !strings.Contains(r.out, " statements: ") {
					b.Fatalf("exit code %d: %s", r.code, r.errOut)
				}
			}
			b.ReportMetric(float64(lines)*float64(b.N)/b.Elapsed().Seconds(), "lines/s")
			b.ReportMetric(float64(lines)*float64(b.N)/(cpuTime(b)-began).Seconds(), "lines/cpu-s")
		})
	}
}
