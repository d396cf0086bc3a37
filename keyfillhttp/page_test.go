package keyfillhttp_test

import (
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/internal/testbrowser"
	"github.com/keyfill/keyfill/keyfillhttp"
)

var now = time.Date(2026, 3, 4, 10, 20, 30, 0, time.UTC)

// healthy are the statistics of a program in which all is well.
func healthy() (keyfill.Stats, []keyfill.SourceStats) {
	return keyfill.Stats{
			Passed: 812,
			Tables: map[string]keyfill.TableStats{
				"customers": {Entry: "customers", Filled: 1204331, Keys: 2400662, Stored: 1204300, Failed: 31, Kept: 12, FailedBy: map[keyfill.Cause]uint64{keyfill.CauseEngine: 31}},
				"orders":    {Entry: "orders", Filled: 88, Keys: 88, Stored: 88},
				"visits":    {Entry: "visits", Filled: 40, Keys: 40, Stored: 40},
			},
		}, []keyfill.SourceStats{
			{Source: "customers.id", Kind: "uuidv7", Tables: []string{"customers"}, Worker: -1},
			{Source: "order_no", Kind: "sequence", Tables: []string{"orders"}, States: 1, Worker: -1, Left: 912, Block: 1000, Max: 1<<31 - 1, Remaining: 1 << 30, PerSecond: 10,
				Exhausted: now.AddDate(3, 4, 0), Fetches: 10321, FetchTime: 10321 * 2 * time.Millisecond, LastFetch: 2 * time.Millisecond, SlowestFetch: 320 * time.Millisecond,
				LastFetchAt: now.Add(-5 * time.Second), LastKeyAt: now.Add(-5 * time.Second), Waits: 12},
			{Source: "visits.id", Kind: "snowflake", Tables: []string{"visits"}, States: 1, Worker: 17, Lease: time.Minute, LeaseHeld: true, LeaseUntil: now.Add(40 * time.Second),
				Exhausted: now.AddDate(69, 0, 0), LastKeyAt: now.Add(-time.Second), Fetches: 40, FetchTime: 400 * time.Millisecond, SlowestFetch: 25 * time.Millisecond},
		}
}

// ill are the statistics of a program in which much is wrong.
func ill() (keyfill.Stats, []keyfill.SourceStats) {
	stats, sources := healthy()
	stats.Tables["tenant_with_a_long_name.shipping_addresses"] = keyfill.TableStats{Entry: "shipping_*", Filled: 5000, Keys: 5000, Stored: 4000, Unknown: 900, Failed: 100,
		FailedBy: map[keyfill.Cause]uint64{keyfill.CauseStore: 40, keyfill.CauseEngine: 100}, UnknownBy: map[keyfill.Cause]uint64{keyfill.CauseConnection: 900},
		Refused: map[keyfill.Reason]uint64{"select": 3, "no_column_list": 1}, Suspects: 2, Withheld: 9,
		NoKeyAt: now.Add(-40 * time.Second), KeysSince: 1200, SuspectAt: now.Add(-26 * time.Hour)}
	sources[1].LastError, sources[1].LastErrorAt, sources[1].FetchErrors = "dial tcp 127.0.0.1:5432: connect: connection refused", now.Add(-20*time.Second), 8
	sources[1].Remaining, sources[1].Exhausted = 1<<24, now.Add(12*24*time.Hour)
	sources[2].LeaseHeld, sources[2].LeasesLost, sources[2].LeaseLostAt = false, 2, now.Add(-5*time.Minute)
	sources[2].LastError, sources[2].LastErrorAt = "i/o timeout", now.Add(-3*time.Minute)
	return stats, append(sources, keyfill.SourceStats{Source: "ordres.id", Kind: "ulid", Tables: []string{"ordres", `<script>alert("entry")</script>`}, Worker: -1})
}

// views are the screens on which the page is looked at.
var views = map[string]testbrowser.View{
	"light":      {Width: 1280, Height: 800},
	"dark":       {Width: 1280, Height: 800, Dark: true},
	"tablet":     {Width: 820, Height: 1180},
	"phone":      {Width: 360, Height: 740, Phone: true},
	"phone dark": {Width: 360, Height: 740, Phone: true, Dark: true},
}

// look finds what is hard to read: what is wider than the screen, letters with less than
// 4.5 times the light of their ground or the reverse, letters under 12 pixels, and a text that
// runs down the page in a narrow column.
const look = `(() => {
	const light = c => {
		const [r, g, b] = c.match(/[\d.]+/g).map(Number).map(v => v / 255).map(v => v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
		return .2126 * r + .7152 * g + .0722 * b;
	};
	const ground = e => {
		for (; e; e = e.parentElement) {
			const c = getComputedStyle(e).backgroundColor;
			if (c !== "rgba(0, 0, 0, 0)") return c;
		}
		return "rgb(255, 255, 255)";
	};
	const found = [];
	if (document.documentElement.scrollWidth > innerWidth) found.push("the page is " + document.documentElement.scrollWidth + " pixels wide");
	let letters = 0;
	for (const e of document.body.querySelectorAll("*")) {
		if (![...e.childNodes].some(n => n.nodeType === 3 && n.textContent.trim()) || !e.getClientRects().length) continue;
		letters++;
		const style = getComputedStyle(e), a = light(style.color), b = light(ground(e));
		const contrast = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
		if (contrast < 4.5) found.push(e.tagName + " " + e.className + " has contrast " + contrast.toFixed(1));
		if (parseFloat(style.fontSize) < 12) found.push(e.tagName + " has letters of " + style.fontSize);
		const lines = e.getClientRects().length > 1 ? 0 : e.clientHeight / parseFloat(style.lineHeight || 20);
		if (lines > 8 && e.clientWidth < 100) found.push(e.tagName + " is " + e.clientWidth + " pixels wide: " + e.textContent.trim());
		const box = e.getBoundingClientRect();
		if (box.right > innerWidth + 1) found.push(e.tagName + " ends at " + box.right + ": " + e.textContent.trim());
	}
	if (letters < 20) found.push("the page has " + letters + " texts");
	return found;
})()`

// TestPage: in a browser the page is readable in light and dark and on a phone, asks for
// nothing and breaks no rule of its own policy. KEYFILL_SCREENSHOTS names a folder for
// pictures of it.
func TestPage(t *testing.T) {
	browser := testbrowser.Start(t)
	for state, stats := range map[string]func() (keyfill.Stats, []keyfill.SourceStats){"healthy": healthy, "ill": ill} {
		server := httptest.NewServer(keyfillhttp.HandlerOf(now, stats))
		defer server.Close()
		for name, view := range views {
			page := browser.Open(t, server.URL, view)
			var problems []string
			page.Eval(t, look, &problems)
			for _, p := range problems {
				t.Errorf("%s, %s: %s", state, name, p)
			}
			if requests := page.Requests(); len(requests) != 1 {
				t.Errorf("%s, %s: the page asks for %q, want itself alone", state, name, requests)
			}
			if messages := page.Messages(); len(messages) > 0 {
				t.Errorf("%s, %s: the browser says %q", state, name, messages)
			}
			var ground string
			page.Eval(t, "getComputedStyle(document.body).backgroundColor", &ground)
			if isDark := ground != "rgb(255, 255, 255)"; isDark != view.Dark {
				t.Errorf("%s, %s: the ground is %s", state, name, ground)
			}
			if folder := os.Getenv("KEYFILL_SCREENSHOTS"); folder != "" {
				picture := filepath.Join(folder, fmt.Sprintf("%s %s.png", state, name))
				if err := os.WriteFile(picture, page.Screenshot(t), 0o644); err != nil {
					t.Error(err)
				}
			}
		}
	}
}

// TestCount: numbers are written with their thousands apart.
func TestCount(t *testing.T) {
	for n, want := range map[any]string{uint64(0): "0", 12: "12", int64(999): "999", 1000: "1\u202f000", int64(-1234567): "-1\u202f234\u202f567"} {
		if got := keyfillhttp.WriteCount(n); got != want {
			t.Errorf("WriteCount(%v) = %q, want %q", n, got, want)
		}
	}
}
