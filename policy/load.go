package policy

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/internal/anchor"
)

const (
	envConfig  = "KEYFILL_CONFIG"
	configFile = "./keyfill.yaml"

	maxFile = 1 << 20 // bytes
)

// errFolder is returned for a path that is a folder.
var errFolder = errors.New("the path is a folder; name the policy's file in the folder")

// FromEnvironment reads the file that $KEYFILL_CONFIG names, or else ./keyfill.yaml. If the
// variable is not set and that file does not exist, the error names both and wraps
// [fs.ErrNotExist].
func FromEnvironment() (*Config, error) {
	if path := os.Getenv(envConfig); path != "" {
		c, err := Load(path)
		if file := (*fs.PathError)(nil); errors.As(err, &file) {
			return nil, anchor.Lastf("policy", "%w (named by $%s)", err, envConfig)
		}
		return c, err
	}
	c, err := Load(configFile)
	if errors.Is(err, fs.ErrNotExist) {
		dir, _ := os.Getwd() // dir is only shown in the message, so an error does not matter
		return nil, anchor.Lastf("policy", "policy: $%s is not set, and %s in %q cannot be read (%w): let the variable name the file, write the file, or embed it and use policy.Parse",
			envConfig, configFile, dir, fs.ErrNotExist)
	}
	return c, err
}

// Load reads a file. It fails when the file cannot be read, and when [Parse]
// fails; the error names the path.
func Load(path string) (*Config, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, anchor.Lastf("policy", "policy: %w", err)
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, anchor.Lastf("policy", "policy: %w", &fs.PathError{Op: "read", Path: path, Err: errFolder})
	}
	return read(path, f)
}

// LoadFS is [Load] for a file of fsys.
func LoadFS(fsys fs.FS, name string) (*Config, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return nil, anchor.Lastf("policy", "policy: %w", err)
	}
	defer f.Close()
	return read(name, f)
}

func read(name string, f io.Reader) (*Config, error) {
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, anchor.Lastf("policy", "policy: %w", err)
	}
	return parse(name, data)
}

// Parse reads the text of a file, in UTF-8 and of 1 MiB at most. It does not retain
// data. The error is an [*Error] or several joined. Checks that depend on the dialect
// are left to [Config.Compile], whose errors then have positions too.
func Parse(data []byte) (*Config, error) { return parse("", data) }

func parse(file string, data []byte) (*Config, error) {
	root, err := parseYAML(file, data)
	if err != nil {
		return nil, err
	}
	r := &reader{
		mistakes: mistakes{
			origin: &origin{file: file, hash: hashOf(data), at: map[place]position{{}: positionOf(root)}},
			unread: make(map[place]bool),
		},
		levels: newFieldLevels(),
	}
	c := object(configFields).read(r, place{}, root)
	c.origin = r.origin
	checker{&r.mistakes, &c}.check()
	if err := r.err(); err != nil {
		return nil, err
	}
	return &c, nil
}

// hashDigits is how many hexadecimal digits of a file's hash are shown: enough to
// distinguish files, and few enough to read aloud.
const hashDigits = 16

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])[:hashDigits]
}

// File returns the path that the configuration was read from, empty if it was parsed from
// bytes, and the first 16 hexadecimal digits of the SHA-256 of its text, as sha256sum
// prints them. Both are empty for a configuration built in Go. They stay when the program
// changes the configuration.
func (c *Config) File() (path, hash string) {
	if c.origin == nil {
		return "", ""
	}
	return c.origin.file, c.origin.hash
}

// parseYAML returns the root of the only document in data.
func parseYAML(file string, data []byte) (*yaml.Node, error) {
	fail := func(pos position, msg string) (*yaml.Node, error) {
		return nil, &Error{File: file, Line: pos.line, Column: pos.column, Msg: msg}
	}
	if len(data) > maxFile {
		return fail(position{}, fmt.Sprintf("the file has more than %d bytes", maxFile))
	}
	if !utf8.Valid(data) {
		return fail(invalidUTF8(data), "the file is not UTF-8; write it in UTF-8")
	}
	docs, err := documents(data)
	switch {
	case err != nil:
		line := syntaxLine(data, err)
		if isTabbed(data, line, err) {
			return fail(position{line: line}, "the line begins with a tab, which YAML does not take for an indentation; write spaces")
		}
		return fail(position{line: line}, syntaxMessage(err))
	case len(docs) == 0:
		return fail(position{1, 1}, "the file is empty; it begins with version: 1")
	case len(docs) > 1:
		return fail(positionOf(docs[1]), "a second document begins; leave one in the file")
	}
	root := docs[0].Content[0]
	if root.Kind == yaml.ScalarNode && root.ShortTag() == "!!null" {
		return fail(positionOf(root), "the file is empty; it begins with version: 1")
	}
	if root.Kind != yaml.MappingNode {
		return fail(positionOf(root), want(place{}, "mapping with version and tables", root))
	}
	return root, nil
}

// documents returns the YAML documents in data, two at most, and the error of the YAML
// library.
func documents(data []byte) ([]*yaml.Node, error) {
	var docs []*yaml.Node
	for decoder := yaml.NewDecoder(bytes.NewReader(data)); len(docs) < 2; {
		doc := new(yaml.Node)
		switch err := decoder.Decode(doc); {
		case err == io.EOF:
			return docs, nil
		case err != nil:
			return nil, err
		}
		docs = append(docs, doc)
	}
	return docs, nil
}

// invalidUTF8 returns the first position at which data is not UTF-8.
func invalidUTF8(data []byte) position {
	at := position{1, 1}
	for len(data) > 0 {
		c, n := utf8.DecodeRune(data)
		if c == utf8.RuneError && n == 1 {
			break
		}
		if at.column++; c == '\n' {
			at = position{at.line + 1, 1}
		}
		data = data[n:]
	}
	return at
}

// syntaxMessage returns the YAML library's message without the library's name and the line.
func syntaxMessage(err error) string {
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, ok := strings.CutPrefix(msg, "line "); ok {
		_, msg, _ = strings.Cut(rest, ": ")
	}
	if strings.HasPrefix(msg, "unknown anchor") || strings.HasPrefix(msg, "did not find expected alphabetic or numeric") {
		return aliasMessage
	}
	return "not YAML: " + msg
}

// isTabbed reports whether the YAML library fails on a line because of a tab before its
// first word.
func isTabbed(data []byte, line int, err error) bool {
	if !strings.Contains(err.Error(), "cannot start any token") && !strings.Contains(err.Error(), "tab character") {
		return false
	}
	lines := bytes.Split(data, []byte("\n"))
	text := lines[min(max(line-1, 0), len(lines)-1)]
	return bytes.IndexByte(text[:len(text)-len(bytes.TrimLeft(text, " \t"))], '\t') >= 0
}

// syntaxLine returns the line in which the YAML library fails on data with err. The line in
// the library's message is often the line before, or the line on which the faulty mapping
// begins, and some messages have none (yaml/v3 3.0.6). So syntaxLine searches, from there
// on, for the shortest beginning of data that gives the same message.
func syntaxLine(data []byte, err error) int {
	begin := 0
	if rest, ok := strings.CutPrefix(err.Error(), "yaml: line "); ok {
		digits, _, _ := strings.Cut(rest, ":")
		begin, _ = strconv.Atoi(digits) // begin is 0 if digits is not a number
	}
	var ends []int // the offsets in bytes at which the lines end
	for i, c := range data {
		if c == '\n' || i == len(data)-1 {
			ends = append(ends, i+1)
		}
	}
	begin = min(max(begin-2, 0), len(ends)-1)
	return begin + 1 + sort.Search(len(ends)-begin-1, func(i int) bool {
		_, prefixErr := documents(data[:ends[begin+i]])
		return prefixErr != nil && syntaxMessage(prefixErr) == syntaxMessage(err)
	})
}
