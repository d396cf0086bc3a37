// Package testbrowser opens pages in a headless Chromium, for tests of pages that keyfill
// serves or writes.
//
//	browser := testbrowser.Start(t) // skips where there is no Chromium
//	page := browser.Open(t, server.URL, testbrowser.View{Width: 390, Height: 844, Dark: true})
//	page.Eval(t, "document.title", &title)
//
// The browser gets no network of its own: what a page asks for is in [Page.Requests], and
// every address but 127.0.0.1 and files fails to resolve. The browser ends with the test,
// and where the test binary is killed, since its end of the pipe is closed then.
//
// A missing Chromium skips the test; KEYFILL_TEST_REQUIRE=1 turns that into a failure.
package testbrowser

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// timeout is for how long one answer of the browser is waited for. It only bounds a
// browser that hangs.
const timeout = 2 * time.Minute

// Browser is a running Chromium. Its methods may be called from several goroutines.
type Browser struct {
	commands *os.File // to the browser: commands, each followed by a zero byte

	mu     sync.Mutex
	last   int
	asked  map[int]chan answer
	pages  map[string]*Page // by session
	failed error
}

// message is a JSON text that the browser has sent: an answer, which has an ID, or an
// event.
type message struct {
	ID        int             `json:"id"`
	SessionID string          `json:"sessionId"`
	Method    string          `json:"method"`
	Params    json.RawMessage `json:"params"`
	Result    json.RawMessage `json:"result"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error"`
}

type answer struct {
	result json.RawMessage
	err    error
}

// Start starts a browser that ends with the test.
func Start(t testing.TB) *Browser {
	t.Helper()
	program := find()
	if program == "" {
		if os.Getenv("KEYFILL_TEST_REQUIRE") == "1" {
			t.Fatal("Chromium is not installed: scripts/servers installs it")
		}
		t.Skip("Chromium is not installed: scripts/servers installs it")
	}
	theirCommands, ourCommands := pipe(t)
	ourAnswers, theirAnswers := pipe(t)
	command := exec.Command(program, "--headless", "--remote-debugging-pipe",
		"--user-data-dir="+t.TempDir(), "--no-first-run", "--disable-gpu", "--disable-extensions",
		"--disable-background-networking", "--disable-component-update", "--disable-sync",
		"--disable-dev-shm-usage", "--force-color-profile=srgb", "--hide-scrollbars",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--no-sandbox") // Chromium refuses to run as root in a sandbox, and opens no pages here but the tests' own
	command.ExtraFiles = []*os.File{theirCommands, theirAnswers}
	if err := command.Start(); err != nil {
		t.Fatalf("%s: %v", program, err)
	}
	_ = theirCommands.Close() // the browser has its own copies of these two files
	_ = theirAnswers.Close()
	b := &Browser{commands: ourCommands, asked: map[int]chan answer{}, pages: map[string]*Page{}}
	read := make(chan struct{})
	go func() {
		defer close(read)
		b.listen(ourAnswers)
	}()
	t.Cleanup(func() {
		_, _ = b.ask("", "Browser.close", nil) // no error matters, since the browser also ends when the pipe is closed
		_ = ourCommands.Close()
		_ = command.Wait() // a test does not depend on the exit code
		<-read
		_ = ourAnswers.Close()
	})
	return b
}

// find returns the path of the browser, or "".
func find() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if program, err := exec.LookPath(name); err == nil {
			return program
		}
	}
	return ""
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// listen reads the answers and events of the browser, and passes each to the code that
// waits for it, until the browser ends.
func (b *Browser) listen(from *os.File) {
	reader := bufio.NewReader(from)
	for {
		text, err := reader.ReadBytes(0)
		if err != nil {
			b.fail(fmt.Errorf("the browser has ended: %w", err))
			return
		}
		var m message
		if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
			b.fail(fmt.Errorf("what the browser said is no JSON: %w", err))
			return
		}
		b.take(m)
	}
}

// take delivers an answer to its caller, and an event to its page.
func (b *Browser) take(m message) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.ID == 0 {
		if page := b.pages[m.SessionID]; page != nil {
			page.take(m.Method, m.Params)
		}
		return
	}
	a := answer{result: m.Result}
	if m.Error != nil {
		a.err = errors.New(m.Error.Message)
	}
	if asked := b.asked[m.ID]; asked != nil {
		asked <- a
		delete(b.asked, m.ID)
	}
}

// fail returns an error to each command that waits for an answer.
func (b *Browser) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = err
	for id, asked := range b.asked {
		asked <- answer{err: err}
		delete(b.asked, id)
	}
}

// ask sends a command to the browser, or to one of its sessions, and waits for the answer.
func (b *Browser) ask(session, method string, params map[string]any) (json.RawMessage, error) {
	b.mu.Lock()
	if b.failed != nil {
		b.mu.Unlock()
		return nil, b.failed
	}
	b.last++
	text, err := json.Marshal(struct {
		ID        int            `json:"id"`
		SessionID string         `json:"sessionId,omitempty"`
		Method    string         `json:"method"`
		Params    map[string]any `json:"params,omitempty"`
	}{b.last, session, method, params})
	asked := make(chan answer, 1)
	if err == nil {
		b.asked[b.last] = asked
		_, err = b.commands.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return nil, err
	}
	select {
	case a := <-asked:
		return a.result, a.err
	case <-time.After(timeout):
		return nil, fmt.Errorf("no answer to %s in %v", method, timeout)
	}
}

// View is the screen on which a page is shown.
type View struct {
	Width, Height int // in CSS pixels
	Dark          bool
	Phone         bool // whether the screen is a phone's: touched, and as wide as the page
}

// Page is an open page.
type Page struct {
	browser *Browser
	session string
	loaded  chan struct{} // gets a value each time that the page was loaded

	// These fields are guarded by the mutex of the browser:
	requests, messages []string
}

// Open opens an address and waits until the page is loaded.
func (b *Browser) Open(t testing.TB, address string, v View) *Page {
	t.Helper()
	var target struct{ TargetID, SessionID string }
	b.must(t, "", "Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.must(t, "", "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	p := &Page{browser: b, session: target.SessionID, loaded: make(chan struct{}, 1)}
	b.mu.Lock()
	b.pages[p.session] = p
	b.mu.Unlock()
	for _, domain := range []string{"Page.enable", "Network.enable", "Runtime.enable", "Log.enable"} {
		p.must(t, domain, nil, nil)
	}
	p.Resize(t, v)
	p.must(t, "Page.navigate", map[string]any{"url": address}, nil)
	select {
	case <-p.loaded:
	case <-time.After(timeout):
		t.Fatalf("%s is not loaded in %v", address, timeout)
	}
	return p
}

// Resize shows the page on another screen.
func (p *Page) Resize(t testing.TB, v View) {
	t.Helper()
	scheme := "light"
	if v.Dark {
		scheme = "dark"
	}
	p.must(t, "Emulation.setDeviceMetricsOverride",
		map[string]any{"width": v.Width, "height": v.Height, "deviceScaleFactor": 1, "mobile": v.Phone}, nil)
	p.must(t, "Emulation.setEmulatedMedia",
		map[string]any{"features": []any{map[string]string{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// take notes an event of the page. The browser's mutex is held.
func (p *Page) take(method string, params json.RawMessage) {
	var event struct {
		Request          struct{ URL string }
		Entry            struct{ Level, Text, URL string }
		Args             []struct{ Value any }
		ExceptionDetails struct{ Text string }
	}
	if err := json.Unmarshal(params, &event); err != nil {
		p.messages = append(p.messages, err.Error())
		return
	}
	switch method {
	case "Page.loadEventFired":
		select {
		case p.loaded <- struct{}{}:
		default:
		}
	case "Network.requestWillBeSent":
		p.requests = append(p.requests, event.Request.URL)
	case "Log.entryAdded":
		p.messages = append(p.messages, strings.TrimSpace(event.Entry.Level+": "+event.Entry.Text+" "+event.Entry.URL))
	case "Runtime.consoleAPICalled":
		p.messages = append(p.messages, fmt.Sprintf("console: %v", event.Args))
	case "Runtime.exceptionThrown":
		p.messages = append(p.messages, "exception: "+event.ExceptionDetails.Text)
	}
}

// Requests returns the addresses that the page has asked for so far.
func (p *Page) Requests() []string {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	return slices.Clone(p.requests)
}

// Messages returns what the browser has complained about so far, and what scripts wrote to
// the console: a breach of the Content-Security-Policy, a script's error.
func (p *Page) Messages() []string {
	p.browser.mu.Lock()
	defer p.browser.mu.Unlock()
	return slices.Clone(p.messages)
}

// Eval evaluates JavaScript in the page and decodes its value into result.
func (p *Page) Eval(t testing.TB, script string, result any) {
	t.Helper()
	var got struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.must(t, "Runtime.evaluate", map[string]any{"expression": script, "returnByValue": true, "awaitPromise": true}, &got)
	if e := got.ExceptionDetails; e != nil {
		t.Fatalf("%s: %s %s", script, e.Text, e.Exception.Description)
	}
	if err := json.Unmarshal(got.Result.Value, result); err != nil {
		t.Fatalf("%s is %s: %v", script, got.Result.Value, err)
	}
}

// Screenshot returns the whole page, also what is below the screen, as a PNG.
func (p *Page) Screenshot(t testing.TB) []byte {
	t.Helper()
	var shot struct{ Data string }
	p.must(t, "Page.captureScreenshot", map[string]any{"format": "png", "captureBeyondViewport": true}, &shot)
	picture, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil {
		t.Fatal(err)
	}
	return picture
}

func (p *Page) must(t testing.TB, method string, params map[string]any, result any) {
	t.Helper()
	p.browser.must(t, p.session, method, params, result)
}

// must sends a command and decodes the answer, unless result is nil.
func (b *Browser) must(t testing.TB, session, method string, params map[string]any, result any) {
	t.Helper()
	text, err := b.ask(session, method, params)
	if err == nil && result != nil {
		err = json.Unmarshal(text, result)
	}
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}
