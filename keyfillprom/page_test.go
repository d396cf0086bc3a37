package keyfillprom_test

import (
	"flag"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keyfill/keyfill/keyfillprom"
)

var update = flag.Bool("update", false, "write the table of docs/metrics.md")

var (
	metricsTable = regexp.MustCompile(`(?s)(<!-- metrics: [^>]* -->\n\|[^\n]*\n\|[^\n]*\n).*?(<!-- end -->)`)
	description  = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "([^"]+)", .*variableLabels: \{([^}]*)\}\}$`)
)

// TestMetricsPage: the table of docs/metrics.md has the metrics that the collector describes.
// go test -run TestMetricsPage -update, in keyfillprom, writes it.
func TestMetricsPage(t *testing.T) {
	const name = "../docs/metrics.md"
	descriptions := make(chan *prometheus.Desc)
	go func() {
		keyfillprom.NewCollector(nil, "shop").Describe(descriptions)
		close(descriptions)
	}()
	var rows strings.Builder
	for d := range descriptions {
		m := description.FindStringSubmatch(d.String())
		if m == nil {
			t.Fatalf("the description has another form: %s", d)
		}
		rows.WriteString("| `" + m[1] + "{" + m[3] + "}` | " + m[2] + " |\n")
	}
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !metricsTable.Match(page) {
		t.Fatalf("%s has no table of the metrics", name)
	}
	want := metricsTable.ReplaceAllString(string(page), "${1}"+strings.ReplaceAll(rows.String(), "$", "$$")+"${2}")
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s has not the metrics that the collector describes: run go test -run TestMetricsPage -update in keyfillprom", name)
	}
}
