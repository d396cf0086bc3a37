package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schema returns the JSON Schema of CycloneDX 1.6, which is in the module of the library.
func schema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/CycloneDX/cyclonedx-go").Output()
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	const at = "http://cyclonedx.org/schema/"
	for name, file := range map[string]string{
		"bom-1.6.schema.json":  "bom-1.6.schema.json",
		"spdx.schema.json":     "spdx.schema.json",
		"jsf-0.82.schema.json": "jsf-0.82.schemax.json", // as it is called there
	} {
		text, err := os.Open(filepath.Join(strings.TrimSpace(string(out)), "schema", file))
		if err != nil {
			t.Fatal(err)
		}
		defer text.Close()
		document, err := jsonschema.UnmarshalJSON(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := compiler.AddResource(at+name, document); err != nil {
			t.Fatal(err)
		}
	}
	compiled, err := compiler.Compile(at + "bom-1.6.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// TestParts: the list of the modules in a command has the form of CycloneDX 1.6, names
// every module once, and is the same whenever it is made.
func TestParts(t *testing.T) {
	info, ok := debug.ReadBuildInfo()
	if !ok || len(info.Deps) < 3 {
		t.Fatalf("this test was built with %v", info)
	}
	text, err := partsOf(info, []byte("a command"), time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	again, err := partsOf(info, []byte("a command"), time.Date(2026, 11, 23, 14, 0, 0, 0, time.FixedZone("", 2*3600)))
	if err != nil || string(again) != string(text) {
		t.Errorf("made again it differs, %v:\n%s", err, again)
	}
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	valid := schema(t)
	if err := valid.Validate(document); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	var list struct {
		Metadata   struct{ Component part }
		Components []part
	}
	if err := json.Unmarshal(text, &list); err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"): true}
	for _, d := range info.Deps {
		want["pkg:golang/"+d.Path+"@"+d.Version] = true
	}
	for _, c := range list.Components {
		if !want[c.Purl] {
			t.Errorf("the list has %s, which is not in the command or twice in the list", c.Purl)
		}
		delete(want, c.Purl)
	}
	if len(want) > 0 {
		t.Errorf("the list lacks %v", want)
	}
	if list.Metadata.Component.Name != info.Main.Path {
		t.Errorf("the list is about %q, want %q", list.Metadata.Component.Name, info.Main.Path)
	}

	document.(map[string]any)["components"].([]any)[0].(map[string]any)["type"] = "toy"
	if err := valid.Validate(document); err == nil {
		t.Error("a part of the type toy has the form of CycloneDX")
	}
}

type part struct{ Name, Purl string }

// TestCheckInfo: a command that was built otherwise is reported.
func TestCheckInfo(t *testing.T) {
	good := func() *debug.BuildInfo {
		return &debug.BuildInfo{
			Main:     debug.Module{Path: "a.test/b", Version: "v0.1.0"},
			Deps:     []*debug.Module{{Path: "c.test/d", Version: "v1.0.0", Sum: "h1:d="}},
			Settings: []debug.BuildSetting{{Key: "GOOS", Value: "linux"}, {Key: "GOARCH", Value: "arm64"}, {Key: "CGO_ENABLED", Value: "0"}, {Key: "-trimpath", Value: "true"}},
		}
	}
	for name, c := range map[string]struct {
		change func(*debug.BuildInfo)
		want   string
	}{
		"as promised":   {func(*debug.BuildInfo) {}, ""},
		"version":       {func(i *debug.BuildInfo) { i.Main.Version = "(devel)" }, "want a.test/b v0.1.0"},
		"C":             {func(i *debug.BuildInfo) { i.Settings[2].Value = "1" }, "CGO_ENABLED=1, want 0"},
		"paths":         {func(i *debug.BuildInfo) { i.Settings = i.Settings[:3] }, "-trimpath=, want true"},
		"platform":      {func(i *debug.BuildInfo) { i.Settings[0].Value = "darwin" }, "GOOS=darwin, want linux"},
		"another sum":   {func(i *debug.BuildInfo) { i.Deps[0].Sum = "h1:e=" }, `no line "c.test/d v1.0.0 h1:e="`},
		"no sum":        {func(i *debug.BuildInfo) { i.Deps[0].Sum = "" }, "no line"},
		"in its folder": {func(i *debug.BuildInfo) { i.Deps[0].Replace = &debug.Module{Path: "../d"} }, "no line"},
	} {
		t.Run(name, func(t *testing.T) {
			info := good()
			c.change(info)
			err := checkInfo(info, "a.test/b", "v0.1.0", "linux/arm64", "x.test/d v1.0.0 h1:d=\nc.test/d v1.0.0 h1:d=\n")
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("checkInfo: %v, want %q", err, c.want)
			}
		})
	}
}
