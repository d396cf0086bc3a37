package stores_test

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/keyfillhttp"
	"github.com/keyfill/keyfill/keyfillprom"
)

// watched is a program as its operator sees it: by its page, and by a Prometheus that scrapes
// it and has the rules of keyfillprom.
type watched struct {
	page string // its address
	prom string // the address of Prometheus
}

// forTime is how long a rule wants its condition to last.
var forTime = regexp.MustCompile(`(?m)^(\s+for: )(\d+)0s$`)

// watch serves the metrics and the page of a mount, and starts a Prometheus that scrapes
// them. It asks each second and its rules want a tenth of the times of the file, so that
// the test ends soon; KEYFILL_SOAK=1 takes the file as it is, and asks each ten seconds.
func watch(t *testing.T, m *keyfill.Mount) *watched {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(keyfillprom.NewCollector(m, "shop"))
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.Handle("/debug/keyfill", keyfillhttp.Handler(m))
	program := httptest.NewServer(mux)
	t.Cleanup(program.Close)

	file, err := os.ReadFile(filepath.FromSlash("../../keyfillprom/alerts.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	rules, every := string(file), "10s"
	if os.Getenv("KEYFILL_SOAK") == "" {
		rules, every = forTime.ReplaceAllString(rules, "${1}${2}s"), "1s"
		if rules == string(file) {
			t.Fatal("the rules have no time that could be shortened")
		}
	}
	config := fmt.Sprintf("global: {scrape_interval: %[1]s, scrape_timeout: %[1]s, evaluation_interval: %[1]s}\n"+
		"rule_files: [rules.yml]\nscrape_configs: [{job_name: shop, static_configs: [{targets: [%[2]q]}]}]\n",
		every, program.Listener.Addr())
	return &watched{
		page: program.URL + "/debug/keyfill?format=json",
		prom: testdb.Start(t, testdb.Prometheus(config, rules)).DSN(""),
	}
}

// get reads the JSON that an address answers with.
func get(t *testing.T, address string, into any) {
	t.Helper()
	r, err := http.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if err := json.NewDecoder(r.Body).Decode(into); err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s, %v", address, r.Status, err)
	}
}

// alert is Prometheus's report of an alert.
type alert struct {
	State  string
	Labels map[string]string
}

// alerts returns the alerts of now.
func (w *watched) alerts(t *testing.T) []alert {
	t.Helper()
	var answer struct{ Data struct{ Alerts []alert } }
	get(t, w.prom+"/api/v1/alerts", &answer)
	return answer.Data.Alerts
}

// query returns the values that an expression has now.
func (w *watched) query(t *testing.T, expr string) []float64 {
	t.Helper()
	var answer struct {
		Data struct{ Result []struct{ Value [2]any } }
	}
	get(t, w.prom+"/api/v1/query?query="+url.QueryEscape(expr), &answer)
	var values []float64
	for _, r := range answer.Data.Result {
		text, _ := r.Value[1].(string)
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			t.Fatalf("%s: %v", expr, err)
		}
		values = append(values, v)
	}
	return values
}

// awaitSeen waits until something is so.
func awaitSeen(t *testing.T, what string, is func() bool) {
	t.Helper()
	for began := time.Now(); !is(); time.Sleep(100 * time.Millisecond) {
		if time.Since(began) > harness.Limit {
			t.Fatalf("%s is not seen", what)
		}
	}
}

// fires reports whether an alert fires whose labels have a value.
func (w *watched) fires(t *testing.T, name, value string) bool {
	t.Helper()
	return slices.ContainsFunc(w.alerts(t), func(a alert) bool {
		if a.Labels["alertname"] != name || a.State != "firing" {
			return false
		}
		for label, v := range a.Labels {
			if v == value && label != "alertname" {
				return true
			}
		}
		return false
	})
}

// report returns what the page says.
func (w *watched) report(t *testing.T) (r keyfillhttp.Report) {
	t.Helper()
	get(t, w.page, &r)
	return r
}

// finds reports whether the page has a finding about a subject.
func (w *watched) finds(t *testing.T, subject, text string) bool {
	t.Helper()
	return slices.ContainsFunc(w.report(t).Attention, func(f keyfillhttp.Finding) bool {
		return f.Subject == subject && strings.Contains(f.Text, text)
	})
}

// dashboard is what the test reads of Grafana's file.
type dashboard struct {
	Panels []struct {
		Title   string
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Name, Type, Definition string }
	}
}

// labelValues is a question of Grafana, which it asks Prometheus by another address.
var labelValues = regexp.MustCompile(`^label_values\((.*), (\w+)\)$`)

// answersDashboard asks Prometheus what the dashboard asks: each variable and each expression
// has an answer, which is a number.
func (w *watched) answersDashboard(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash("../../keyfillprom/dashboard.json"))
	if err != nil {
		t.Fatal(err)
	}
	var d dashboard
	if err := json.Unmarshal(text, &d); err != nil || len(d.Panels) == 0 || len(d.Templating.List) == 0 {
		t.Fatalf("the dashboard has %d panels and %d variables, error %v", len(d.Panels), len(d.Templating.List), err)
	}
	inserted := strings.NewReplacer("$__rate_interval", "1m", "$__range", "5m", "$job", "shop", "$instance", ".*", "$db_name", "shop")
	for _, v := range d.Templating.List {
		if v.Type == "datasource" {
			continue // Grafana's own
		}
		parts := labelValues.FindStringSubmatch(inserted.Replace(v.Definition))
		if parts == nil {
			t.Errorf("the variable %s asks %q, which is no label_values", v.Name, v.Definition)
			continue
		}
		var answer struct{ Data []string }
		get(t, w.prom+"/api/v1/label/"+parts[2]+"/values?match[]="+url.QueryEscape(parts[1]), &answer)
		if len(answer.Data) != 1 {
			t.Errorf("the variable %s has the values %q, want one", v.Name, answer.Data)
		}
	}
	for _, p := range d.Panels {
		for _, target := range p.Targets {
			values := w.query(t, inserted.Replace(target.Expr))
			if len(values) == 0 || !slices.ContainsFunc(values, func(v float64) bool { return !math.IsNaN(v) }) {
				t.Errorf("the panel %q has the values %v for %s", p.Title, values, target.Expr)
			}
		}
	}
}
