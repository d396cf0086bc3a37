package vet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// policyFile is the name of the policy file in a folder.
const policyFile = "keyfill.yaml"

// PolicyFile returns the path of the policy for the Go packages in a folder: the file
// that $KEYFILL_CONFIG names, or else the nearest keyfill.yaml in the folder or above it,
// up to the folder of the module; empty if there is none.
func PolicyFile(folder string) string {
	if named := os.Getenv("KEYFILL_CONFIG"); named != "" {
		return named
	}
	for {
		name := filepath.Join(folder, policyFile)
		if _, err := os.Stat(name); err == nil {
			return name
		}
		_, err := os.Stat(filepath.Join(folder, "go.mod"))
		above := filepath.Dir(folder)
		if !errors.Is(err, fs.ErrNotExist) || above == folder {
			return ""
		}
		folder = above
	}
}
