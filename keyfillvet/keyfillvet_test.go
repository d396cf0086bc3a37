package keyfillvet_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis/analysistest"

	"github.com/keyfill/keyfill/keyfillvet"
)

// told returns the reports of an analyzer on a package, by line.
func told(t *testing.T, o keyfillvet.Options, name string) (all []string) {
	t.Helper()
	for _, result := range analysistest.Run(silent{t}, analysistest.TestData(), keyfillvet.New(o), name) {
		if result.Err != nil {
			return []string{result.Err.Error()}
		}
		for _, d := range result.Diagnostics {
			at := result.Pass.Fset.Position(d.Pos)
			all = append(all, fmt.Sprintf("%d %s", at.Line, d.Category))
		}
	}
	return all
}

// silent hears nothing of comments "want" that do not fit.
type silent struct{ *testing.T }

func (silent) Errorf(string, ...any) {}

// TestAnalyzer: the reports on testdata/src/shop, as its comments say.
func TestAnalyzer(t *testing.T) {
	t.Setenv("KEYFILL_CONFIG", "")
	analysistest.Run(t, analysistest.TestData(), keyfillvet.Analyzer, "shop")
}

// TestDynamic: texts that are put together when the program runs are reported if asked
// for.
func TestDynamic(t *testing.T) {
	t.Setenv("KEYFILL_CONFIG", "")
	const want = "54 keyfill/dynamic"
	if got := told(t, keyfillvet.Options{}, "shop"); slices.Contains(got, want) {
		t.Errorf("%q holds %s, which nobody has asked for", got, want)
	}
	if got := told(t, keyfillvet.Options{Dynamic: true}, "shop"); !slices.Contains(got, want) {
		t.Errorf("%q does not hold %s", got, want)
	}
}

// TestPolicy: where the policy comes from.
func TestPolicy(t *testing.T) {
	file, err := filepath.Abs("testdata/src/shop/keyfill.yaml")
	if err != nil {
		t.Fatal(err)
	}
	refused := []string{"3 keyfill/refused"}
	for _, tt := range []struct {
		name, variable, folder string
		options                keyfillvet.Options
		want                   []string
	}{
		{"nowhere", "", "bare", keyfillvet.Options{}, nil},
		{"the variable", file, "bare", keyfillvet.Options{}, refused},
		{"the option before the variable", "nowhere.yaml", "bare", keyfillvet.Options{Config: file}, refused},
		{"the folder, and the dialect of the option", "", "broken", keyfillvet.Options{Dialect: "postgres"}, refused},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("KEYFILL_CONFIG", tt.variable)
			if got := told(t, tt.options, tt.folder); !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
	for name, o := range map[string]keyfillvet.Options{
		"say dialect:": {},
	} {
		if got := strings.Join(told(t, o, "broken"), " "); !strings.Contains(got, name) {
			t.Errorf("%+v: the error is %q, want %q in it", o, got, name)
		}
	}
}
