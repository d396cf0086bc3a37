package main

import (
	"bytes"
	"database/sql"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/keyfill/keyfill"
	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// policyOf writes the policy that a container reads into a folder, and returns its path. A
// busy machine may take longer than the default of store_wait.
func (m *manifest) policyOf(t *testing.T, w workload) string {
	t.Helper()
	c := w.container()
	for _, e := range c.Env {
		if e.Name != "KEYFILL_CONFIG" {
			continue
		}
		for _, v := range c.VolumeMounts {
			for _, volume := range w.template.Spec.Volumes {
				text, found := m.configMaps[volume.ConfigMap.Name].Data[path.Base(e.Value)]
				if volume.Name != v.Name || path.Dir(e.Value) != v.MountPath || !found {
					continue
				}
				file := filepath.Join(t.TempDir(), path.Base(e.Value))
				if err := os.WriteFile(file, []byte(text+"\nstore_wait: 1m\n"), 0o600); err != nil {
					t.Fatal(err)
				}
				return file
			}
		}
	}
	t.Fatalf("%s: no volume has the file that KEYFILL_CONFIG names", m.file)
	return ""
}

// environment returns the variables of a container as Kubernetes sets them.
func (m *manifest) environment(w workload) map[string]string {
	all := map[string]string{}
	for _, e := range w.container().Env {
		all[e.Name] = e.Value
		if e.ValueFrom != nil {
			ref := e.ValueFrom.SecretKeyRef
			all[e.Name] = m.secrets[ref.Name].StringData[ref.Key]
		}
	}
	return all
}

// variable finds the fields of a policy that name a variable of the environment.
var variable = regexp.MustCompile(`\b[a-z]+_env: *([A-Z_]+)`)

// TestPolicies: the policy in each ConfigMap is one, the variables that it names are set
// in the pods, and a program that has them can be started.
func TestPolicies(t *testing.T) {
	for _, file := range applications {
		m := read(t, file)
		w := m.workloads[0]
		name := m.policyOf(t, w)
		cfg, err := policy.Load(name)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		if _, err := cfg.Compile(dialect.PostgreSQL()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		given := m.environment(w)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range variable.FindAllStringSubmatch(string(text), -1) {
			if given[found[1]] == "" {
				t.Errorf("%s: the policy names the variable %s, which the pods do not have", file, found[1])
			}
		}
		// TestStatefulSet opens the database in a host whose name ends in a number.
		text = bytes.ReplaceAll(text, []byte("worker_ordinal: true"), []byte("worker: 0"))
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		given["KEYFILL_CONFIG"] = name
		for k, v := range given {
			t.Setenv(k, v)
		}
		db, err := sql.Open("pgx-keyfill", given["SHOP_DSN"])
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		served(t, file, db, w)
		if err := db.Close(); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		for k := range given {
			t.Setenv(k, "") // the next pod has its own
		}
	}
}

// served fails where the program does not know the path that a probe asks.
func served(t *testing.T, file string, db *sql.DB, w workload) {
	t.Helper()
	m, err := keyfill.From(db)
	if err != nil {
		t.Fatal(err)
	}
	c := w.container()
	paths := []string{c.StartupProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path, c.LivenessProbe.HTTPGet.Path}
	for _, asked := range slices.Compact(paths) {
		answer := httptest.NewRecorder()
		handler(db, m).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, asked, nil))
		if answer.Code == http.StatusNotFound {
			t.Errorf("%s: a probe asks for %s, which the program does not know", file, asked)
		}
	}
}
