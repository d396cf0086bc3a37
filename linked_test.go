package keyfill_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// heavy are packages that a program has only if it asks for metrics, for the page or for
// a store in etcd or Redis.
var heavy = []string{
	module + "/keyfillhttp", module + "/keyfillotel", module + "/keyfillprom", module + "/internal/figures",
	module + "/keyfilletcd", "go.etcd.io/", "google.golang.org/grpc/",
	module + "/keyfillredis", "github.com/redis/",
	"github.com/prometheus/", "go.opentelemetry.io/", "net/http", "html/template",
}

// TestMetricsAreNotLinked: a program that imports keyfill, or a package of auto, contains
// no package of metrics, no client of etcd or Redis and no web server of keyfill's. Drivers
// that bring such packages themselves are compared without keyfill's package.
func TestMetricsAreNotLinked(t *testing.T) {
	testturn.WhenChanged(t, "*.go", "*.mod")
	if found := heavyOf(t, ".", "."); len(found) > 0 {
		t.Errorf("the root contains %q", found)
	}
	if found := heavyOf(t, ".", "./keyfillhttp"); len(found) < 3 {
		t.Errorf("keyfillhttp contains only %q: this test does not see what it should", found)
	}
	folders, err := filepath.Glob("auto/*/go.mod")
	if err != nil || len(folders) == 0 {
		t.Fatalf("no modules in auto: %v", err)
	}
	for _, file := range folders {
		folder := filepath.Dir(file)
		drivers := heavyOf(t, folder, driversOf(t, folder)...)
		for _, found := range heavyOf(t, folder, ".") {
			if !strings.Contains(strings.Join(drivers, " ")+" ", found+" ") {
				t.Errorf("%s contains %s, which its driver does not", folder, found)
			}
		}
	}
}

// driversOf returns what a package imports besides this module.
func driversOf(t *testing.T, folder string) []string {
	t.Helper()
	var others []string
	for _, imported := range goList(t, folder, "-f", `{{join .Imports "\n"}}`, ".") {
		if imported != module && !strings.HasPrefix(imported, module+"/") {
			others = append(others, imported)
		}
	}
	if len(others) == 0 {
		t.Fatalf("%s imports no driver", folder)
	}
	return others
}

// heavyOf returns the heavy packages that a program with some packages contains.
func heavyOf(t *testing.T, folder string, packages ...string) []string {
	t.Helper()
	var found []string
	all := goList(t, folder, append([]string{"-deps"}, packages...)...)
	if len(all) < 20 {
		t.Fatalf("%s and %q contain %d packages, want 20 or more", folder, packages, len(all))
	}
	for _, name := range all {
		for _, h := range heavy {
			if name == h || strings.HasSuffix(h, "/") && strings.HasPrefix(name, h) {
				found = append(found, name)
			}
		}
	}
	return found
}

// goList returns what go list prints.
func goList(t *testing.T, folder string, args ...string) []string {
	t.Helper()
	command := exec.Command("go", append([]string{"list"}, args...)...)
	command.Dir = folder
	command.Env = append(os.Environ(), "GOWORK=off")
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list in %s: %v", folder, err)
	}
	return strings.Fields(string(out))
}
