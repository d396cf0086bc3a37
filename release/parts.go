package main

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"net/url"
	"runtime/debug"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
	"github.com/google/uuid"
)

// license is what SPDX calls the license of this repository.
const license = "MIT"

// checkInfo returns an error unless a command is what a release promises: its module and
// version, the platform, no C, no paths of this machine, and modules with the sums of
// go.sum.
func checkInfo(info *debug.BuildInfo, modulePath, version, platform, gosum string) error {
	var all []error
	if info.Main.Path != modulePath || info.Main.Version != version {
		all = append(all, fmt.Errorf("the command is %s %s, want %s %s", info.Main.Path, info.Main.Version, modulePath, version))
	}
	goos, goarch, _ := strings.Cut(platform, "/")
	for key, want := range map[string]string{"GOOS": goos, "GOARCH": goarch, "CGO_ENABLED": "0", "-trimpath": "true"} {
		if got := setting(info, key); got != want {
			all = append(all, fmt.Errorf("the command was built with %s=%s, want %s", key, got, want))
		}
	}
	for _, d := range info.Deps {
		line := fmt.Sprintf("%s %s %s\n", d.Path, d.Version, d.Sum)
		if d.Replace != nil || d.Sum == "" || !strings.Contains("\n"+gosum, "\n"+line) {
			all = append(all, fmt.Errorf("go.sum of the command has no line %q", strings.TrimSpace(line)))
		}
	}
	return errors.Join(all...)
}

// setting returns a setting of a build.
func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// partsOf returns the list of the modules in a command, as JSON of CycloneDX 1.6: what
// the go command has written into it. at is the time of the release: nothing in the list
// depends on when it was made.
func partsOf(info *debug.BuildInfo, binary []byte, at time.Time) ([]byte, error) {
	sum := sha256.Sum256(binary)
	whole := component(cdx.ComponentTypeApplication, info.Main.Path, info.Main.Version)
	whole.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}}
	whole.Licenses = &cdx.Licenses{{License: &cdx.License{ID: license}}}
	whole.Properties = &[]cdx.Property{}
	for _, setting := range info.Settings {
		*whole.Properties = append(*whole.Properties, cdx.Property{Name: "go:build:" + setting.Key, Value: setting.Value})
	}
	parts := []cdx.Component{component(cdx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, d := range info.Deps {
		part := component(cdx.ComponentTypeLibrary, d.Path, d.Version)
		part.Properties = &[]cdx.Property{{Name: "go:sum", Value: d.Sum}}
		parts = append(parts, part)
	}
	// Which module needs which is not in a command, so each module is listed without
	// dependencies.
	refs, needs := []string{}, []cdx.Dependency{}
	for _, part := range parts {
		refs = append(refs, part.BOMRef)
		needs = append(needs, cdx.Dependency{Ref: part.BOMRef})
	}
	needs = append([]cdx.Dependency{{Ref: whole.BOMRef, Dependencies: &refs}}, needs...)

	bom := cdx.NewBOM()
	bom.SerialNumber = "urn:uuid:" + uuid.NewSHA1(uuid.NameSpaceURL, sum[:]).String()
	bom.Metadata = &cdx.Metadata{
		Timestamp:  at.UTC().Format(time.RFC3339),
		Lifecycles: &[]cdx.Lifecycle{{Phase: cdx.LifecyclePhaseBuild}},
		Component:  &whole,
	}
	bom.Components, bom.Dependencies = &parts, &needs
	var b bytes.Buffer
	err := cdx.NewBOMEncoder(&b, cdx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).EncodeVersion(bom, cdx.SpecVersion1_6)
	return b.Bytes(), err
}

// component returns a module, with its package URL, as a part of a program or an archive.
func component(kind cdx.ComponentType, modulePath, version string) cdx.Component {
	purl := "pkg:golang/" + modulePath + "@" + url.QueryEscape(version)
	return cdx.Component{BOMRef: purl, Type: kind, Name: modulePath, Version: version, PackageURL: purl}
}
