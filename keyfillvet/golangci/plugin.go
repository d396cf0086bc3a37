// Package golangci makes keyfillvet a plugin of golangci-lint. "golangci-lint custom"
// builds a golangci-lint that has the plugin. docs/vet.md has the two files that are
// needed.
//
// The plugin is called keyfill. Its settings are config, dialect and dynamic, the fields of
// [keyfillvet.Options]; a path in config is relative to the folder in which golangci-lint
// runs.
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

// New returns the plugin for the settings of .golangci.yml. It fails if there is a setting
// that the plugin does not know.
func New(conf any) (register.LinterPlugin, error) {
	s, err := register.DecodeSettings[settings](conf)
	if err != nil {
		return nil, err
	}
	return plugin{keyfillvet.Options(s)}, nil
}

// plugin is the plugin with its options.
type plugin struct{ options keyfillvet.Options }

// BuildAnalyzers returns the analyzer.
func (p plugin) BuildAnalyzers() ([]*analysis.Analyzer, error) {
	return []*analysis.Analyzer{keyfillvet.New(p.options)}, nil
}

// GetLoadMode returns the mode in which golangci-lint loads types, which the analyzer
// needs.
func (plugin) GetLoadMode() string { return register.LoadModeTypesInfo }
