package vetreport

import (
	"encoding/json"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/internal/vet"
)

// SARIFLog is the output of keyfill vet --sarif, as far as it uses SARIF 2.1.0:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
type SARIFLog struct {
	Schema  string     `json:"$schema"`
	Version string     `json:"version"`
	Runs    []sarifRun `json:"runs"`
}

// The parts of a SARIFLog.
type (
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		Results    []sarifResult `json:"results"`
		ColumnKind string        `json:"columnKind"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version,omitempty"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID            string         `json:"id"`
		Short         sarifText      `json:"shortDescription"`
		HelpURI       string         `json:"helpUri"`
		Configuration sarifRuleLevel `json:"defaultConfiguration"`
	}
	sarifRuleLevel struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID       string             `json:"ruleId"`
		RuleIndex    int                `json:"ruleIndex"`
		Level        string             `json:"level"`
		Message      sarifText          `json:"message"`
		Locations    []sarifLocation    `json:"locations"`
		Suppressions []sarifSuppression `json:"suppressions,omitempty"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine int `json:"startLine"`
		EndLine   int `json:"endLine,omitempty"`
	}
	sarifSuppression struct {
		Kind          string `json:"kind"`
		Justification string `json:"justification"`
	}
)

const (
	sarifSchema = "https://json.schemastore.org/sarif-2.1.0.json"
	projectURI  = "https://github.com/keyfill/keyfill"
)

// levelOf returns the level of a rule in SARIF.
func levelOf(rule string) string {
	switch rule {
	case vet.RuleRefused, vet.RuleLastInsertID:
		return "error"
	case vet.RuleDynamic:
		return "note"
	}
	return "warning"
}

// PrintSARIF prints the findings as SARIF, including those that a comment in the source
// code suppresses. It gives lines without columns, since SARIF does not count columns in
// bytes.
func (v *Report) PrintSARIF(w io.Writer, version string, f *Form) error {
	driver := sarifDriver{Name: "keyfill vet", Version: version, InformationURI: projectURI}
	for _, r := range vet.Rules {
		driver.Rules = append(driver.Rules, sarifRule{
			ID: vet.Prefix + r.Name, Short: sarifText{r.Text},
			HelpURI:       projectURI + "/blob/main/docs/vet.md#" + r.Name,
			Configuration: sarifRuleLevel{levelOf(r.Name)},
		})
	}
	run := sarifRun{Tool: sarifTool{driver}, Results: []sarifResult{}, ColumnKind: "unicodeCodePoints"}
	for i := range v.Findings {
		one := &v.Findings[i]
		if !one.Ignored && !f.isTold(one) && (!f.All || one.Rule == "") {
			continue
		}
		result := sarifResult{
			RuleID: vet.Prefix + one.Rule, Level: levelOf(one.Rule), Message: sarifText{one.Message},
			RuleIndex: slices.IndexFunc(vet.Rules, func(r vet.Rule) bool { return r.Name == one.Rule }),
			Locations: []sarifLocation{{sarifPhysical{sarifArtifact{fileURI(one.At.Filename)}, sarifRegion{one.At.Line, one.End.Line}}}},
		}
		if one.Ignored {
			result.Suppressions = []sarifSuppression{{"inSource", one.Excuse}}
		}
		if one.Rule == vet.RuleRefused && one.Unfilled() {
			result.Level = "warning"
		}
		run.Results = append(run.Results, result)
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(SARIFLog{Schema: sarifSchema, Version: "2.1.0", Runs: []sarifRun{run}})
}

// fileURI returns the URI of a file. It is relative if the file's name is relative.
func fileURI(name string) string {
	u := url.URL{Path: filepath.ToSlash(name)}
	if filepath.IsAbs(name) {
		u.Scheme = "file"
		u.Path = "/" + strings.TrimPrefix(u.Path, "/")
	}
	return u.String()
}
