package keyfillprom_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/keyfill/keyfill/keyfillprom"
)

// promtool runs Prometheus's own tool, which scripts/servers installs.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	if err != nil {
		if os.Getenv("KEYFILL_TEST_REQUIRE") == "1" {
			t.Fatal("promtool is not installed: scripts/servers installs it")
		}
		t.Skip("promtool is not installed: scripts/servers installs it")
	}
	if out, err := exec.Command(program, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// TestAlerts: each alert fires within a minute, and none while all is well.
func TestAlerts(t *testing.T) {
	promtool(t, "check", "rules", "alerts.yaml")
	promtool(t, "test", "rules", "testdata/alerts_test.yaml")
	rules, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests, err := os.ReadFile("testdata/alerts_test.yaml")
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1)
	if len(names) == 0 {
		t.Fatal("alerts.yaml has no alert")
	}
	for _, name := range names {
		fires := regexp.MustCompile(`alertname: ` + name[1] + `\n\s+exp_alerts:\n\s+- exp_labels`)
		if !fires.Match(tests) {
			t.Errorf("no test has the alert %s fire", name[1])
		}
	}
}

// dashboard is what the tests read of Grafana's file.
type dashboard struct {
	Panels []struct {
		Title   string
		GridPos struct{ X, Y, W, H int }
		Targets []struct{ Expr string }
	}
	Templating struct {
		List []struct{ Name, Definition string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text, err := os.ReadFile("dashboard.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil || len(d.Panels) == 0 {
		t.Fatalf("dashboard.json has %d panels, error %v", len(d.Panels), err)
	}
	return d
}

// TestDashboard: Prometheus's own parser reads each expression, and no panel lies on
// another one.
func TestDashboard(t *testing.T) {
	d := readDashboard(t)
	// What Grafana writes for its variables.
	inserted := strings.NewReplacer("$__rate_interval", "1m", "$__range", "6h", "$job", ".*", "$instance", ".*", "$db_name", "shop|archive")
	var rules strings.Builder
	rules.WriteString("groups:\n- name: dashboard\n  rules:\n")
	taken := map[[2]int]string{}
	for _, p := range d.Panels {
		if len(p.Targets) == 0 {
			t.Errorf("the panel %q asks for nothing", p.Title)
		}
		for _, target := range p.Targets {
			expr, err := json.Marshal(inserted.Replace(target.Expr)) // as YAML has texts too
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(expr), "$") {
				t.Errorf("the panel %q has a variable that the test does not know: %s", p.Title, expr)
			}
			rules.WriteString("  - record: panel:expression\n    expr: " + string(expr) + "\n")
		}
		for x := p.GridPos.X; x < p.GridPos.X+p.GridPos.W; x++ {
			for y := p.GridPos.Y; y < p.GridPos.Y+p.GridPos.H; y++ {
				if other := taken[[2]int{x, y}]; other != "" && other != p.Title {
					t.Fatalf("the panels %q and %q lie at the same place", other, p.Title)
				}
				taken[[2]int{x, y}] = p.Title
				if x >= 24 {
					t.Errorf("the panel %q leaves the page, which is 24 wide", p.Title)
				}
			}
		}
	}
	file := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(file, []byte(rules.String()), 0o644); err != nil {
		t.Fatal(err)
	}
	promtool(t, "check", "rules", "--lint=none", file) // they share a name
}

var (
	named     = regexp.MustCompile(`\bkeyfill_[a-z_]+`)
	histogram = regexp.MustCompile(`_(bucket|count|sum)$`)
)

// TestNames: what the alerts and the dashboard ask for is what a real mount gives, and all
// that it gives is on the dashboard, in an alert or in the list of the page.
func TestNames(t *testing.T) {
	_, m := work(t)
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(keyfillprom.NewCollector(m, "shop"))
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	given := map[string]bool{} // by whether a rule asks for it
	for _, family := range families {
		given[family.GetName()] = false
	}
	alerts, err := os.ReadFile("alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"alerts.yaml": string(alerts), "docs/metrics.md": string(page)}
	for _, p := range readDashboard(t).Panels {
		for _, target := range p.Targets {
			texts["the panel "+p.Title] += target.Expr + "\n"
		}
	}
	for _, v := range readDashboard(t).Templating.List {
		texts["the variable "+v.Name] = v.Definition
	}
	for place, text := range texts {
		for _, name := range named.FindAllString(text, -1) {
			if _, ok := given[name]; !ok {
				name = histogram.ReplaceAllString(name, "")
			}
			if _, ok := given[name]; !ok && !stored[name] {
				t.Errorf("%s names %s, which no mount gives", place, name)
			}
			given[name] = true
		}
	}
	for name, wanted := range given {
		if !wanted {
			t.Errorf("nobody asks for %s: list it in docs/metrics.md", name)
		}
	}
}

// stored are the words of docs/metrics.md that look like metrics and are tables.
var stored = map[string]bool{"keyfill_sequences": true, "keyfill_workers": true, "keyfill_series": true}
