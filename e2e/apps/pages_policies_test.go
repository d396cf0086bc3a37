package apps_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/internal/testturn"
	"github.com/keyfill/keyfill/policy"
)

// schemaLine is the first line of a policy, by which an editor finds the schema.
const schemaLine = "# yaml-language-server: $schema=https://raw.githubusercontent.com/keyfill/keyfill/main/" + schemaFile + "\n"

const schemaFile = "policy/keyfill.schema.json"

// TestPolicies: every policy in the pages is one, for the engines that have its sources.
// A whole one names the schema in its first line; a fragment is a policy when the line
// "version: 1" stands before it.
func TestPolicies(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	if _, err := os.Stat(filepath.Join(root, schemaFile)); err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks(t, "yaml") {
		text := b.text
		switch {
		case b.file() != "":
			continue // another program reads it
		case b.has("fragment"):
			if _, err := policy.Parse([]byte(text)); err == nil {
				t.Errorf("%s is called a fragment and is a whole policy", b)
			}
			text = "version: 1\n" + text
		case !strings.HasPrefix(text, schemaLine):
			t.Errorf("%s does not begin with\n%s", b, schemaLine)
		}
		compile(t, b.String(), text)
	}
}

// compile reports that a policy is none for an engine that could have it.
func compile(t *testing.T, where, text string) {
	t.Helper()
	cfg, err := policy.Parse([]byte(text))
	if err != nil {
		t.Errorf("%s: %v", where, err)
		return
	}
	compiled := 0
	for _, d := range dialect.All() {
		if cfg.Dialect != "" && cfg.Dialect != d.Name || lacks(d, text) {
			continue
		}
		if _, err := cfg.Compile(d); err != nil {
			t.Errorf("%s: %s: %v", where, d.Name, err)
		}
		compiled++
	}
	if compiled == 0 {
		t.Errorf("%s is a policy for no engine", where)
	}
}

// lacks reports whether an engine does not have what a policy asks for.
func lacks(d *dialect.Dialect, text string) bool {
	has := func(words ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(text, w) })
	}
	switch d.Family {
	case dialect.FamilySQLServer, dialect.FamilyOracle:
		return has("below:")
	}
	return d.OneWriter && has("via: procedure", "worker_lease", "native") || d.Name == "mysql" && has("native")
}

// namesSchemaBeside reports whether the first line of a file leads to the schema by a path
// within the repository.
func namesSchemaBeside(name, text string) bool {
	first, _, _ := strings.Cut(text, "\n")
	path, ok := strings.CutPrefix(first, "# yaml-language-server: $schema=")
	return ok && filepath.Join(filepath.Dir(name), filepath.FromSlash(path)) == filepath.Join(root, filepath.FromSlash(schemaFile))
}

// TestSchemaIsNamed: the README and the reference name the schema, which is there.
func TestSchemaIsNamed(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	for page, link := range map[string]string{"README.md": "](" + schemaFile + ")", "docs/reference.md": schemaFile} {
		text, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), link) {
			t.Errorf("%s does not name %s", page, link)
		}
	}
}

// notPolicies are the other files in YAML, with the program that reads each.
var notPolicies = map[string]string{
	"examples/sqlc/sqlc.yaml": "sqlc",
	"keyfillprom/alerts.yaml": "Prometheus",

	// A test there reads the policies in them.
	"examples/kubernetes/check.yaml":           "Kubernetes",
	"examples/kubernetes/deployment.yaml":      "Kubernetes",
	"examples/kubernetes/deployment-etcd.yaml": "Kubernetes",
	"examples/kubernetes/statefulset.yaml":     "Kubernetes",
}

// TestPolicyFiles: the policies of the repository's programs name the schema too.
func TestPolicyFiles(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "*.yaml", "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	found, others := 0, 0
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		base := filepath.Base(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (base[0] == '.' || base == "testdata"):
			return fs.SkipDir
		case entry.IsDir() && name == filepath.Join(root, "suites", "list"): // descriptions of test suites
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(name) != ".yaml":
			return nil
		}
		if below, err := filepath.Rel(root, name); err != nil || notPolicies[filepath.ToSlash(below)] != "" {
			others++
			return err
		}
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		found++
		if !strings.HasPrefix(string(text), schemaLine) && !namesSchemaBeside(name, string(text)) {
			t.Errorf("%s does not begin with\n%s", name, schemaLine)
		}
		compile(t, name, string(text))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 2 {
		t.Errorf("found %d policies, want 2 or more", found)
	}
	if others != len(notPolicies) {
		t.Errorf("%d files of notPolicies are there, want %d", others, len(notPolicies))
	}
}
