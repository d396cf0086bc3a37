package apps_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/keyfill/keyfill/internal/testturn"
)

// isShown reports whether a block shows a statement as it is written and as it is sent.
func isShown(b block) bool { return strings.HasPrefix(b.text, "written ") }

// TestShown: keyfill explain says of a statement what the page says.
func TestShown(t *testing.T) {
	t.Parallel()
	testturn.WhenChanged(t, "README.md", "docs/", "examples/", "cmd/keyfill/", "policy/", "rewrite/", "internal/rewrite/", "dialect/", "e2e/apps/")
	compared := 0
	for _, b := range blocks(t, "text") {
		if !isShown(b) {
			continue
		}
		written, sent, _ := strings.Cut(strings.TrimSpace(b.text), "\n")
		written = strings.TrimSpace(strings.TrimPrefix(written, "written"))
		sent = strings.TrimSpace(strings.TrimPrefix(sent, "sent"))
		file := filepath.Join(t.TempDir(), "keyfill.yaml")
		if err := os.WriteFile(file, []byte(policyOf(t, b.page).text), 0o644); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(builtCommand(t), "explain", "--config", file, "--dialect", "postgres", written).CombinedOutput()
		if err != nil || !strings.Contains(string(out), sent+"\n") {
			t.Errorf("%s: keyfill explain says, error %v,\n%s", b, err, out)
		}
		compared++
	}
	if compared == 0 {
		t.Error("no page shows a statement")
	}
}
