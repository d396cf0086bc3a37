package keyfillpgx_test

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestExamples runs the examples of this package, which print what they have stored: they
// need a server, which go test does not start for an example.
func TestExamples(t *testing.T) {
	p := open(t, keyed(sequence()), "CREATE TABLE customers (id UUID PRIMARY KEY, name TEXT); CREATE TABLE orders (id BIGINT PRIMARY KEY, note TEXT)")
	file := filepath.Join(t.TempDir(), "keyfill.yaml")
	const tables = "version: 1\ntables:\n  customers: {column: id}\n  orders: {column: id, source: {kind: sequence, ensure_schema: true}}\n"
	if err := os.WriteFile(file, []byte(tables), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KEYFILL_CONFIG", file)
	t.Setenv("DATABASE_URL", p.dsn)
	for _, example := range []struct {
		name string
		run  func()
		want string
	}{
		{"WrapPool", ExampleWrapPool, "2 <nil>\n"},
		{"WrapConn", ExampleWrapConn, "1 <nil>\n"},
	} {
		if got := printed(t, example.run); got != example.want {
			t.Errorf("the example of %s prints %q, want %q", example.name, got, example.want)
		}
	}
	if got := column(t, p.plain, "SELECT name FROM customers WHERE substr(id::text, 15, 1) = '7' ORDER BY id"); line("%v", got) != "[Ada Bob]" {
		t.Errorf("stored is %v, want both customers in their order, with UUIDs of version 7", got)
	}
}

// printed returns what a function writes to the standard output.
func printed(t *testing.T, run func()) string {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	stdout := os.Stdout
	os.Stdout = write
	run()
	os.Stdout = stdout
	if err := write.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
