package testturn

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// choicesVariable names the folder for the choices of the tests that run.
const choicesVariable = "KEYFILL_TEST_CHOICES"

// Record is a line of a test program's file. It says that a test has made a choice, or has
// started to make choices, and that its Parent had made After choices before.
type Record struct {
	Test   string
	Parent string `json:",omitempty"`
	After  int    `json:",omitempty"`
	Choice Choice
}

// program names the test program by its package's folder and the folder above, since two
// packages may have the same name. A test program begins in the folder of its package.
var program = programName()

func programName() string {
	folder, err := os.Getwd()
	if err != nil {
		return strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")
	}
	return filepath.Base(filepath.Dir(folder)) + "-" + filepath.Base(folder)
}

// write appends a record to the file of this process, if there is a folder for it. The
// file's name begins with the name of the test program, up to a tilde.
func write(r Record) {
	folder := os.Getenv(choicesVariable)
	if folder == "" {
		return
	}
	line, err := json.Marshal(r)
	if err == nil {
		err = appendTo(filepath.Join(folder, fmt.Sprintf("%s~%d.jsonl", program, os.Getpid())), append(line, '\n'))
	}
	if err != nil {
		panic(fmt.Sprintf("testturn: %s: %v", choicesVariable, err))
	}
}

func appendTo(path string, line []byte) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o666)
	if err != nil {
		return err
	}
	if _, err := f.Write(line); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}
