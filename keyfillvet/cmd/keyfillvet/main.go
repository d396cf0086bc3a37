// Command keyfillvet reports how keyfill treats the INSERTs in Go packages, as a tool of
// go vet:
//
//	go install github.com/keyfill/keyfill/keyfillvet/cmd/keyfillvet@latest
//	go vet -vettool=$(which keyfillvet) ./...
//
// Its flags -keyfill.config, -keyfill.dialect and -keyfill.dynamic follow -vettool. It
// works only under the go command: "keyfill vet" is the stand-alone program.
package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"slices"

	"golang.org/x/tools/go/analysis/unitchecker"

	"github.com/keyfill/keyfill/internal/vet"
	"github.com/keyfill/keyfill/keyfillvet"
)

func main() {
	if slices.Equal(os.Args[1:], []string{"-V=full"}) {
		id, err := identity()
		if err != nil {
			fmt.Fprintf(os.Stderr, "keyfillvet: the program cannot read itself (%v): install it again\n", err)
			os.Exit(1)
		}
		fmt.Println("keyfillvet version " + id)
		return
	}
	unitchecker.Main(keyfillvet.Analyzer)
}

// identity returns a hash that identifies this program and the policy. The go command
// reuses the results of a tool while its identity stays the same. The policy is the one
// that is found from the folder in which the go command runs.
func identity() (string, error) {
	hash := sha256.New()
	program, err := os.Executable()
	if err != nil {
		return "", err
	}
	if err := addFile(hash, program); err != nil {
		return "", err
	}
	if file := vet.PolicyFile(cmp.Or(os.Getenv("PWD"), ".")); file != "" {
		// A policy that cannot be read is reported later, when it is used.
		if text, err := os.ReadFile(file); err == nil {
			_, _ = hash.Write(text) // a hash never fails
		}
	}
	return fmt.Sprintf("%x", hash.Sum(nil)), nil
}

func addFile(w io.Writer, name string) error {
	f, err := os.Open(name)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = io.Copy(w, f)
	return err
}
