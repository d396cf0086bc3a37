package suites_test

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	_ "github.com/lib/pq"
	_ "modernc.org/sqlite"

	"github.com/keyfill/keyfill/suites"
	"github.com/keyfill/keyfill/suites/filled"
)

// gotify is a server that shows its messages by ORDER BY id DESC.
var gotify = &suites.Suite{Module: "github.com/gotify/server/v2", Version: "v2.5.0"}

// TestGotify: gotify goes to keyfill by keyfill plan there --stopped as it is printed, and its
// list of messages stays newest first. It runs where $KEYFILL_SUITES matches its name.
func TestGotify(t *testing.T) {
	pattern, isAsked := os.LookupEnv("KEYFILL_SUITES")
	if is, err := regexp.MatchString(pattern, "gotify"); !isAsked || !is || err != nil {
		return
	}
	server, command := buildGotify(t), filepath.Join(t.TempDir(), "keyfill")
	goCommand(t, filepath.FromSlash("../cmd/keyfill"), "build", "-o", command, ".")
	for _, e := range []struct{ engine, driver, params string }{
		{suites.MariaDB, "mysql", "?charset=utf8mb4&parseTime=True"},
		{suites.PostgreSQL, "postgres", "?sslmode=disable"},
		{suites.SQLite, "sqlite3", ""},
	} {
		t.Run(e.driver, func(t *testing.T) {
			p := place(t, e.engine)
			dsn, planDriver := p.Base+e.params, e.driver
			if e.engine == suites.SQLite {
				dsn, planDriver = filepath.Join(p.Folder, "gotify.db"), "sqlite"
			}
			a := &app{t: t, server: server, driver: e.driver, dsn: dsn, folder: p.Folder}
			a.start("")
			a.login()
			a.send(12)
			a.delete() // the counter is above the greatest key
			a.wantNewestFirst("plain")
			a.stop()

			entry := a.plan(command, planDriver)
			file := filepath.Join(p.Folder, "keyfill.yaml")
			if err := os.WriteFile(file, []byte("version: 1\ntables:\n  "+entry+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 { // it is restarted in between
				a.start(file)
				for range 3 {
					a.send(7)
					a.wantNewestFirst(entry)
				}
				a.stop()
			}
			if a.filled < 21 {
				t.Errorf("keyfill has filled %d messages of a process, want 21", a.filled)
			}
		})
	}
}

// buildGotify builds the server with the drivers that keyfill wraps, and without its pages,
// which the module proxy does not have.
func buildGotify(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := suites.Download(t.Context(), gotify, folder); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(folder, "ui", "build", "static"), 0o755); err != nil {
		t.Fatal(err)
	}
	imports := "package main\n\nimport (\n"
	for _, name := range []string{"mysql", "postgres", "sqlite3"} {
		imports += fmt.Sprintf("\t_ \"github.com/keyfill/keyfill/suites/filled/%s\"\n", name)
	}
	files := map[string]string{"keyfill_suites.go": imports + ")\n"}
	for _, page := range []string{"static/main.js", "index.html", "manifest.json", "asset-manifest.json"} {
		files["ui/build/"+page] = ""
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const keyfill = "github.com/keyfill/keyfill"
	goCommand(t, folder, "mod", "edit", "-go=1.26.0", "-toolchain=none",
		"-require="+keyfill+"@v0.0.0", "-replace="+keyfill+"="+root,
		"-require="+keyfill+"/suites@v0.0.0", "-replace="+keyfill+"/suites="+filepath.Join(root, "suites"))
	file := filepath.Join(t.TempDir(), "gotify")
	goCommand(t, folder, "build", "-mod=mod", "-o", file, ".")
	return file
}

func goCommand(t *testing.T, folder string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir, cmd.Env = folder, append(os.Environ(), "GOWORK=off")
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, said)
	}
}

// app is a running gotify, and what it has stored.
type app struct {
	t                           *testing.T
	server, driver, dsn, folder string

	cmd    *exec.Cmd
	base   string // of its URLs
	counts string // the file of keyfill's counts
	token  string // of an application that sends messages
	sent   int
	stored []string // newest first
	filled uint64   // INSERTs of the last process
}

// start starts the server, through keyfill if there is a policy.
func (a *app) start(policy string) {
	a.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		a.t.Fatal(err)
	}
	address := free.Addr().String()
	free.Close()
	_, port, _ := strings.Cut(address, ":")
	a.base, a.counts = "http://"+address, filepath.Join(a.folder, "counts.json")
	cmd := exec.Command(a.server)
	cmd.Dir = a.folder
	cmd.Env = append(os.Environ(), "GOTIFY_SERVER_LISTENADDR=127.0.0.1", "GOTIFY_SERVER_PORT="+port, "GOTIFY_DATABASE_DIALECT="+a.driver, "GOTIFY_DATABASE_CONNECTION="+a.dsn,
		filled.PolicyVariable+"="+policy, filled.DriverVariable+"="+a.driver, filled.CountsVariable+"="+a.counts)
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		a.t.Fatal(err)
	}
	a.cmd = cmd
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	a.t.Cleanup(func() { _ = cmd.Process.Kill() })
	for {
		answer, err := http.Get(a.base + "/health")
		if err == nil {
			answer.Body.Close()
			return
		}
		select {
		case err := <-ended:
			a.t.Fatalf("gotify has ended: %v\n%s", err, &said)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// stop ends the server, and reads what keyfill has counted.
func (a *app) stop() {
	a.t.Helper()
	if err := a.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		a.t.Fatal(err)
	}
	for a.cmd.Process.Signal(syscall.Signal(0)) == nil {
		time.Sleep(5 * time.Millisecond)
	}
	text, err := os.ReadFile(a.counts)
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var counts filled.Counts
	if err == nil {
		err = json.Unmarshal(text, &counts)
	}
	if err != nil {
		a.t.Fatal(err)
	}
	a.filled = counts.Filled
}

// call calls the API, and reads the answer into a value, if there is one.
func (a *app) call(method, path string, body, into any) {
	a.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		a.t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(a.t.Context(), method, a.base+path, bytes.NewReader(text))
	if err != nil {
		a.t.Fatal(err)
	}
	if !strings.Contains(path, "token=") {
		request.SetBasicAuth("admin", "admin")
	}
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		a.t.Fatal(err)
	}
	defer answer.Body.Close()
	said, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		a.t.Fatalf("%s %s: %s %v\n%s", method, path, answer.Status, err, said)
	}
	if into != nil {
		if err := json.Unmarshal(said, into); err != nil {
			a.t.Fatal(err)
		}
	}
}

// login makes an application that sends messages.
func (a *app) login() {
	a.t.Helper()
	var made struct{ Token string }
	a.call(http.MethodPost, "/application", map[string]any{"name": "test"}, &made)
	a.token = made.Token
}

// send sends messages.
func (a *app) send(n int) {
	a.t.Helper()
	for range n {
		a.sent++
		text := fmt.Sprintf("message %d", a.sent)
		a.call(http.MethodPost, "/message?token="+a.token, map[string]any{"message": text, "priority": 1}, nil)
		a.stored = slices.Insert(a.stored, 0, text)
	}
}

// listed is a message of the list.
type listed struct {
	ID      int64
	Message string
}

// list returns the first page of the list.
func (a *app) list() []listed {
	a.t.Helper()
	var page struct{ Messages []listed }
	a.call(http.MethodGet, "/message?limit=10", nil, &page)
	return page.Messages
}

// delete deletes the newest message.
func (a *app) delete() {
	a.t.Helper()
	a.call(http.MethodDelete, fmt.Sprintf("/message/%d", a.list()[0].ID), nil, nil)
	a.stored = a.stored[1:]
}

func (a *app) wantNewestFirst(how string) {
	a.t.Helper()
	page := a.list()
	if len(page) != 10 {
		a.t.Fatalf("%s: the first page has %d messages", how, len(page))
	}
	for i, m := range page {
		if m.Message != a.stored[i] {
			a.t.Fatalf("%s: message %d of the list is %q, want %q", how, i, m.Message, a.stored[i])
		}
	}
}

// plan runs keyfill plan there --stopped for the messages and the statements that it prints,
// and returns the entry of the policy.
func (a *app) plan(command, driver string) string {
	a.t.Helper()
	cmd := exec.Command(command, "plan", "there", "--stopped", "--json", "--table", "messages", "--driver", driver, "--dsn-env", "SHOP_DSN")
	cmd.Env = append(os.Environ(), "SHOP_DSN="+a.dsn)
	out, err := cmd.Output()
	if err != nil {
		a.t.Fatal(err)
	}
	db, err := sql.Open(driver, a.dsn)
	if err != nil {
		a.t.Fatal(err)
	}
	defer db.Close()
	var entries []string
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var step struct {
			Policy string
			SQL    []string
		}
		if err := decoder.Decode(&step); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			a.t.Fatal(err)
		}
		for _, query := range step.SQL {
			if _, err := db.Exec(query); err != nil {
				a.t.Fatalf("%s: %v", query, err)
			}
		}
		if step.Policy != "" {
			entries = append(entries, step.Policy)
		}
	}
	if len(entries) != 1 {
		a.t.Fatalf("the plan prints the policies %q, want one", entries)
	}
	return entries[0]
}
