package golangci_test

import (
	"fmt"

	"github.com/keyfill/keyfill/keyfillvet/golangci"
)

// golangci-lint makes the plugin with the settings of .golangci.yml.
func ExampleNew() {
	plugin, err := golangci.New(map[string]any{"config": "keyfill.yaml", "dialect": "postgres"})
	if err != nil {
		panic(err)
	}
	analyzers, err := plugin.BuildAnalyzers()
	if err != nil {
		panic(err)
	}
	fmt.Println(analyzers[0].Name, "needs", plugin.GetLoadMode())
	// Output: keyfill needs typesinfo
}
