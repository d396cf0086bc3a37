package keyfillhttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/keyfillhttp"
)

// answer returns what the handler answers to a request.
func answer(t *testing.T, stats func() (keyfill.Stats, []keyfill.SourceStats), method, target string, accept ...string) (*httptest.ResponseRecorder, string) {
	t.Helper()
	w := httptest.NewRecorder()
	r := httptest.NewRequest(method, target, nil)
	for _, line := range accept {
		r.Header.Add("Accept", line)
	}
	keyfillhttp.HandlerOf(now, stats).ServeHTTP(w, r)
	return w, w.Body.String()
}

// TestForms: the query says the form, else what the client prefers.
func TestForms(t *testing.T) {
	const html, asJSON = "text/html; charset=utf-8", "application/json; charset=utf-8"
	for _, c := range []struct {
		target string
		accept []string
		want   string
	}{
		{"/", nil, html},
		{"/debug/keyfill", []string{"*/*"}, html},
		{"/", []string{"text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}, html},
		{"/", []string{"application/json"}, asJSON},
		{"/", []string{"application/json;q=0.5, text/html"}, html},
		{"/", []string{"text/html;q=0.5", "application/json"}, asJSON},
		{"/", []string{"application/json;q=0"}, html},
		{"/", []string{";;,"}, html},
		{"/?format=json", []string{"text/html"}, asJSON},
		{"/?format=html", []string{"application/json"}, html},
	} {
		r, _ := answer(t, healthy, http.MethodGet, c.target, c.accept...)
		if got := r.Header().Get("Content-Type"); got != c.want || r.Code != http.StatusOK {
			t.Errorf("GET %s for %q is %d, %s, want %s", c.target, c.accept, r.Code, got, c.want)
		}
	}
}

// TestMethods: the page is only read.
func TestMethods(t *testing.T) {
	for method, want := range map[string]int{
		http.MethodGet: http.StatusOK, http.MethodHead: http.StatusOK,
		http.MethodPost: http.StatusMethodNotAllowed, http.MethodPut: http.StatusMethodNotAllowed,
		http.MethodDelete: http.StatusMethodNotAllowed, http.MethodOptions: http.StatusMethodNotAllowed,
	} {
		r, _ := answer(t, healthy, method, "/")
		if r.Code != want || want != http.StatusOK && r.Header().Get("Allow") != "GET, HEAD" {
			t.Errorf("%s is %d and allows %q, want %d", method, r.Code, r.Header().Get("Allow"), want)
		}
	}
	server := httptest.NewServer(keyfillhttp.HandlerOf(now, healthy))
	defer server.Close()
	head, err := http.Head(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_ = head.Body.Close()
	if _, page := answer(t, healthy, http.MethodGet, "/"); head.ContentLength != int64(len(page)) {
		t.Errorf("HEAD tells of %d bytes, GET gives %d", head.ContentLength, len(page))
	}
}

// TestHeaders: nothing may be kept, framed, guessed or asked for from elsewhere.
func TestHeaders(t *testing.T) {
	r, page := answer(t, ill, http.MethodGet, "/?refresh=10")
	for header, want := range map[string]string{
		"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
		"Vary": "Accept", "Refresh": "10",
	} {
		if got := r.Header().Get(header); got != want {
			t.Errorf("%s is %q, want %q", header, got, want)
		}
	}
	policy := r.Header().Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "form-action 'none'", "base-uri 'none'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("the policy is %q, want %s", policy, want)
		}
	}
	if strings.Contains(policy, "unsafe") || strings.Contains(page, "<script") || strings.Contains(page, "http://") || strings.Contains(page, "https://") {
		t.Errorf("the page has a script or an address elsewhere, or its policy %q is weak", policy)
	}
	for _, refresh := range []string{"0", "-1", "3601", "x", "1;url=http://elsewhere.example", ""} {
		r, _ := answer(t, healthy, http.MethodGet, "/?refresh="+strings.ReplaceAll(refresh, ";", "%3B"))
		if got := r.Header().Get("Refresh"); got != "" {
			t.Errorf("refresh=%s makes the header Refresh %q", refresh, got)
		}
	}
}

// TestFindings: findings are shown in both forms, the worst first, and a healthy program
// has none.
func TestFindings(t *testing.T) {
	var report keyfillhttp.Report
	_, text := answer(t, healthy, http.MethodGet, "/?format=json")
	if err := json.Unmarshal([]byte(text), &report); err != nil || report.Attention == nil || len(report.Attention) != 0 {
		t.Errorf("a healthy program has the findings %v, error %v", report.Attention, err)
	}
	_, text = answer(t, ill, http.MethodGet, "/?format=json")
	if err := json.Unmarshal([]byte(text), &report); err != nil {
		t.Fatal(err)
	}
	const tenant = "table tenant_with_a_long_name.shipping_addresses"
	want := []struct{ severity, subject, part string }{
		{"bad", "source order_no", "failed 20 s ago: dial tcp"},
		{"bad", "source visits.id", "failed 3 minutes ago: i/o timeout"},
		{"bad", "source visits.id", "no lease"},
		{"bad", tenant, "2 of keyfill's keys already, last 26 hours ago."},
		{"warn", "source order_no", "exhausted in 12 days"},
		{"warn", "source visits.id", "2 times, last 5 minutes ago."},
		{"warn", tenant, "40 INSERTs got no key: store. It is over: the last one was 40 s ago, and 1\u202f200 keys were added since."},
		{"warn", tenant, "3 INSERTs could not be filled: select"},
		{"warn", tenant, "1 INSERT could not be filled: no_column_list"},
		{"warn", tenant, "9 INSERTs"},
		{"warn", "entry ordres", "None of"},
		{"warn", `entry <script>alert("entry")</script>`, "None of"},
	}
	if len(report.Attention) != len(want) {
		t.Fatalf("the findings are %+v, want %d", report.Attention, len(want))
	}
	for _, f := range report.Attention {
		if !strings.HasSuffix(f.Text, ".") || strings.HasSuffix(f.Text, "..") {
			t.Errorf("the text %q, before its remedy, does not end as a sentence", f.Text)
		}
	}
	_, page := answer(t, ill, http.MethodGet, "/")
	for i, w := range want {
		f := report.Attention[i]
		if f.Severity != w.severity || f.Subject != w.subject || !strings.Contains(f.Text, w.part) || f.Remedy == "" {
			t.Errorf("finding %d is %+v, want %+v and a remedy", i, f, w)
		}
	}
	if !strings.Contains(page, strconv.Itoa(len(want))+" things need attention, 4 of them now") {
		t.Error("the page does not tell how many things need attention")
	}
	if report.Tables[0].Name != "tenant_with_a_long_name.shipping_addresses" {
		t.Errorf("the first table is %s, want the one with findings", report.Tables[0].Name)
	}
}

// TestOver: a past event is shown with its time, and an hour later no more; a present one
// is bad.
func TestOver(t *testing.T) {
	for name, c := range map[string]struct {
		at    time.Duration
		since uint64
		want  string // the severity and the text
	}{
		"now":              {3 * time.Second, 0, "bad 7 INSERTs got no key: store, clock. The last one was 3 s ago, and no key was added since."},
		"long ago":         {3 * time.Hour, 0, "bad 7 INSERTs got no key: store, clock. The last one was 3 hours ago, and no key was added since."},
		"over":             {3 * time.Minute, 1, "warn 7 INSERTs got no key: store, clock. It is over: the last one was 3 minutes ago, and 1 key was added since."},
		"over for long":    {61 * time.Minute, 1, ""},
		"of no known time": {0, 0, "warn 7 INSERTs got no key: store, clock."},
	} {
		_, text := answer(t, func() (keyfill.Stats, []keyfill.SourceStats) {
			stats, sources := healthy()
			s := stats.Tables["orders"]
			s.FailedBy = map[keyfill.Cause]uint64{keyfill.CauseStore: 5, keyfill.CauseClock: 2, keyfill.CauseEngine: 9}
			if s.KeysSince = c.since; c.at > 0 {
				s.NoKeyAt = now.Add(-c.at)
			}
			stats.Tables["orders"] = s
			return stats, sources
		}, http.MethodGet, "/?format=json")
		var report keyfillhttp.Report
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range report.Attention {
			got += f.Severity + " " + f.Text
		}
		if got != c.want {
			t.Errorf("%s: the findings are %q, want %q", name, got, c.want)
		}
	}
}

// TestEnds: a source that has nothing left, or not for long, is shown as bad.
func TestEnds(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*keyfill.SourceStats)
		want   string // severity
	}{
		"nothing left":    {func(s *keyfill.SourceStats) { s.Remaining = 0 }, "bad"},
		"two days":        {func(s *keyfill.SourceStats) { s.Exhausted = now.AddDate(0, 0, 2) }, "bad"},
		"past":            {func(s *keyfill.SourceStats) { s.Exhausted = now.AddDate(0, 0, -2) }, "bad"},
		"twenty days":     {func(s *keyfill.SourceStats) { s.Exhausted = now.AddDate(0, 0, 20) }, "warn"},
		"two months":      {func(s *keyfill.SourceStats) { s.Exhausted = now.AddDate(0, 2, 0) }, ""},
		"no rate":         {func(s *keyfill.SourceStats) { s.Exhausted = time.Time{} }, ""},
		"not used so far": {func(s *keyfill.SourceStats) { s.States, s.Remaining = 0, 0 }, ""},
	} {
		var report keyfillhttp.Report
		_, text := answer(t, func() (keyfill.Stats, []keyfill.SourceStats) {
			stats, sources := healthy()
			c.change(&sources[1])
			return stats, sources
		}, http.MethodGet, "/?format=json")
		if err := json.Unmarshal([]byte(text), &report); err != nil {
			t.Fatal(err)
		}
		got := ""
		for _, f := range report.Attention {
			got = f.Severity
		}
		if got != c.want {
			t.Errorf("%s: the severity is %q, want %q", name, got, c.want)
		}
	}
}

// TestManyTables: the page lists some hundred tables, the JSON all.
func TestManyTables(t *testing.T) {
	many := func() (keyfill.Stats, []keyfill.SourceStats) {
		stats := keyfill.Stats{Tables: map[string]keyfill.TableStats{}}
		for i := range 10_000 {
			stats.Tables["tenant"+strconv.Itoa(i)+".orders"] = keyfill.TableStats{Entry: "*.orders", Filled: 1, Stored: 1}
		}
		return stats, nil
	}
	_, page := answer(t, many, http.MethodGet, "/")
	if rows := strings.Count(page, "by *.<wbr>orders"); rows != 500 || !strings.Contains(page, "9\u202f500 more tables") {
		t.Errorf("the page has %d tables, want 500 and a word of the rest", rows)
	}
	_, text := answer(t, many, http.MethodGet, "/?format=json")
	if rows := strings.Count(text, `"entry": "*.orders"`); rows != 10_000 {
		t.Errorf("the JSON has %d tables, want 10000", rows)
	}
}

// TestWorkers: the page and the JSON have the number of a source's worker, 0 as well, and
// none for a source without workers.
func TestWorkers(t *testing.T) {
	for _, worker := range []int64{0, 17} {
		state := func() (keyfill.Stats, []keyfill.SourceStats) {
			stats, sources := healthy()
			sources[2].Worker = worker
			return stats, sources
		}
		want := "worker " + strconv.FormatInt(worker, 10) + "<"
		if _, page := answer(t, state, http.MethodGet, "/"); strings.Count(page, want) != 1 || strings.Count(page, ", worker ") != 1 {
			t.Errorf("the page has not %q, once:\n%s", want, page)
		}
		want = `"worker": ` + strconv.FormatInt(worker, 10) + ","
		if _, text := answer(t, state, http.MethodGet, "/?format=json"); strings.Count(text, want) != 1 {
			t.Errorf("the JSON has not %q, once:\n%s", want, text)
		}
	}
}
