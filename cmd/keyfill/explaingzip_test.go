package main

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestExplainBrokenGzip: a compressed file that is cut off or changed is reported as one.
func TestExplainBrokenGzip(t *testing.T) {
	var whole bytes.Buffer
	w := gzip.NewWriter(&whole)
	if _, err := w.Write(bytes.Repeat([]byte("INSERT INTO orders (note) VALUES ('a');\n"), 1000)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(whole.Bytes())
	changed[len(changed)-8] ^= 1 // in the checksum
	folder := t.TempDir()
	config := filepath.Join(folder, "keyfill.yaml")
	if err := os.WriteFile(config, []byte("version: 1\ndialect: sqlite\ntables: {orders: {column: id}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string][]byte{
		"half":    whole.Bytes()[:whole.Len()/2],
		"head":    whole.Bytes()[:5],
		"changed": changed,
	} {
		path := filepath.Join(folder, name+".sql.gz")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		root := newRoot()
		root.SetOut(&bytes.Buffer{})
		root.SetErr(&bytes.Buffer{})
		root.SetArgs([]string{"explain", "--config", config, "--summary", "-f", path})
		if err := root.Execute(); err == nil || !strings.Contains(err.Error(), "gzip cannot unpack the file, which is cut off or changed: take a whole copy") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}
