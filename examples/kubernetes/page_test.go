package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestPage: what docs/kubernetes.md shows of a file is in that file.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/kubernetes.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := regexp.MustCompile("(?s)```yaml file=([a-z-]+\\.yaml)\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	if len(shown) < 3 {
		t.Errorf("the page shows parts of %d files, want 3 or more", len(shown))
	}
	for _, one := range shown {
		text, err := os.ReadFile(one[1])
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(text), one[2]) {
			t.Errorf("%s does not have what the page shows of it:\n%s", one[1], one[2])
		}
	}
}
