package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestVetTool: go vet runs the program, takes its flags, and vets a package again when the
// policy has changed, although it has found nothing before.
func TestVetTool(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "keyfillvet")
	run := func(folder string, args ...string) (string, error) {
		c := exec.Command("go", args...)
		c.Dir = folder
		c.Env = append(os.Environ(), "GOWORK=off", "KEYFILL_CONFIG=", "PWD="+folder)
		out, err := c.CombinedOutput()
		return string(out), err
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if out, err := run(here, "build", "-o", program, "."); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	shop := filepath.Join(folder, "shop")
	if err := os.Mkdir(shop, 0o755); err != nil {
		t.Fatal(err)
	}
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(shop, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module shop\n\ngo 1.26.0\n")
	write("keyfill.yaml", "version: 1\ndialect: mysql\ntables: {customers: {column: id}}\n")
	write("shop.go", "package shop\n\nconst refused = \"INSERT INTO orders SELECT * FROM carts\"\n")
	if out, err := run(shop, "vet", "-vettool="+program, "./..."); err != nil {
		t.Fatalf("go vet without a rule for the table: %v\n%s", err, out)
	}
	write("keyfill.yaml", "version: 1\ndialect: mysql\ntables: {orders: {column: id}}\n")
	const want = "shop.go:3:17: keyfill/refused: an INSERT into orders is refused"
	if out, err := run(shop, "vet", "-vettool="+program, "./..."); err == nil || !strings.Contains(out, want) {
		t.Errorf("go vet with a rule for the table: %v\n%s\nwant %s", err, out, want)
	}
	write("keyfill.yaml", "version: 1\ntables: {orders: {column: id}}\n")
	if out, err := run(shop, "vet", "-vettool="+program, "-keyfill.dialect=sqlite", "./..."); err == nil || !strings.Contains(out, want) {
		t.Errorf("go vet with the dialect as a flag: %v\n%s\nwant %s", err, out, want)
	}
}
