// Package golangci is the plugin of keyfillvet for golangci-lint, whose "custom" builds a
// golangci-lint with it. docs/vet.md has the two files that are needed.
//
// The plugin is called keyfill. Its settings are config, dialect and dynamic, the fields
// of [keyfillvet.Options]; a path in config is relative to the folder in which
// golangci-lint runs.
package golangci

import (
	"github.com/golangci/plugin-module-register/register"
	"golang.org/x/tools/go/analysis"

	"github.com/keyfill/keyfill/keyfillvet"
)

func init() { register.Plugin("keyfill", New) }

// settings are the plugin's settings in .golangci.yml.
type settings struct {
	Config  string `json:"config"`
	Dialect string `json:"dialect"`
	Server  string `json:"server"`
	Dynamic bool   `json:"dynamic"`
}

// New returns the plugin for the settings of .golangci.yml. Settings that the plugin does
// not know are an error.
func New(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](conf)
	if err != nil {
		return nil, err
	}
	return plugin{keyfillvet.Options(s)}, nil
}

// plugin is the plugin.
type plugin struct{ options keyfillvet.Options }

// BuildAnalyzers returns the analyzer.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{keyfillvet.New(p.options)}, nil
}

// GetLoadMode returns that the analyzer needs types.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
