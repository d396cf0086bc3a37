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
	pageTable   = regexp.MustCompile(`(?s)(<!-- (metrics|alerts): [^>]* -->\n\|[^\n]*\n\|[^\n]*\n).*?(<!-- end -->)`)
	alertRule   = regexp.MustCompile(`(?s)- alert: (\w+)\n.*?summary: '([^\n]*)'\n`)
	label       = regexp.MustCompile(`\{\{[^}]*\}\}`)
	description = regexp.MustCompile(`^Desc\{fqName: "([^"]+)", help: "([^"]+)", .*variableLabels: \{([^}]*)\}\}$`)
)

// TestMetricsPage: the tables of docs/metrics.md have the metrics that the collector describes,
// and the rules of alerts.yaml with their summaries.
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
	rules, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var alerts strings.Builder
	for _, m := range alertRule.FindAllStringSubmatch(string(rules), -1) {
		alerts.WriteString("| `" + m[1] + "` | " + label.ReplaceAllString(m[2], "…") + " |\n")
	}
	page, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	tables := map[string]string{"metrics": rows.String(), "alerts": alerts.String()}
	want := pageTable.ReplaceAllStringFunc(string(page), func(table string) string {
		m := pageTable.FindStringSubmatch(table)
		text := tables[m[2]]
		delete(tables, m[2])
		return m[1] + text + m[3]
	})
	if len(tables) > 0 {
		t.Fatalf("%s lacks a table of the metrics or of the alerts", name)
	}
	if *update {
		if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if want != string(page) {
		t.Errorf("%s has not the metrics of the collector and the rules of alerts.yaml: run go test -run TestMetricsPage -update in keyfillprom", name)
	}
}
