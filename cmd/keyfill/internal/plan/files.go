package plan

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

// policyFileName is the end of the name of a file with a policy.
const policyFileName = "keyfill.yaml"

// fileName returns the path of a file of a step, which counts from 1.
func fileName(folder string, number int, name string) string {
	return filepath.Join(folder, fmt.Sprintf("%02d-%s", number, name))
}

// Write writes the statements and policies of the steps to files in the folder, which it
// creates, and names them in the steps. It fails if a file is there already.
func Write(d *dialect.Dialect, o *Options, steps []Step) error {
	e := engines[d.Family]
	if e.client == "" {
		return fmt.Errorf("keyfill plan writes files for psql, mariadb, mysql and sqlite3, and none for %s: leave --dir out", d.Title)
	}
	texts := map[string][]byte{}
	for i := range steps {
		s := &steps[i]
		switch {
		case s.SQL != nil:
			s.File = fileName(o.Folder, i+1, plainFileName(s.Name)+".sql")
			texts[s.File] = []byte(s.script(e.begin))
		case s.Policy != "":
			text, err := mergedPolicy(d, o.Config, s.Policy)
			if err != nil {
				return err
			}
			s.File = fileName(o.Folder, i+1, policyFileName)
			texts[s.File] = text
		}
	}
	if err := os.MkdirAll(o.Folder, 0o755); err != nil {
		return err
	}
	if old, err := filepath.Glob(filepath.Join(o.Folder, "[0-9][0-9]*-*")); err != nil || len(old) > 0 {
		return fmt.Errorf("%s has the files of a plan already: name another --dir, or remove them", o.Folder)
	}
	for _, s := range steps {
		if s.File == "" {
			continue
		}
		f, err := os.OpenFile(s.File, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		if errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("%s is there already: name another --dir, or remove it", s.File)
		} else if err != nil {
			return err
		}
		_, err = f.Write(texts[s.File])
		if err = errors.Join(err, f.Close()); err != nil {
			return err
		}
	}
	return nil
}

// Client returns how a client runs a file.
func Client(d *dialect.Dialect) string { return engines[d.Family].client }

// plainFileName returns a name without the characters that a shell or a file system treats
// in a way of its own.
func plainFileName(name string) string {
	return strings.Map(func(c rune) rune {
		if c == '-' || c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			return c
		}
		return '_'
	}, name)
}

// script returns the step as a file of SQL.
func (s *Step) script(begin string) string {
	var b strings.Builder
	comment := func(text string) {
		for _, line := range strings.Split(text, "\n") {
			fmt.Fprintf(&b, "-- %s\n", strings.TrimSpace(line))
		}
	}
	comment(s.Title)
	b.WriteString(begin)
	for _, query := range s.SQL {
		fmt.Fprintf(&b, "%s\n", ended(query))
	}
	if s.Again != "" {
		comment(s.Again)
	}
	if s.Check != "" {
		comment("Check: " + ended(s.Check))
		comment("Look at: " + s.Look)
	}
	return b.String()
}

// mergedPolicy returns the policy file with the entries of tables, or a policy of these
// entries alone if there is no file.
func mergedPolicy(d *dialect.Dialect, file, entries string) ([]byte, error) {
	text := []byte("version: 1\ntables: {}\n")
	if file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return nil, err
		}
	}
	var document, set yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal([]byte(entries), &set); err != nil {
		return nil, err
	}
	top := document.Content[0]
	tables := fieldOf(top, "tables")
	if tables == nil || tables.Kind != yaml.MappingNode {
		tables = &yaml.Node{Kind: yaml.MappingNode}
		setField(top, "tables", tables)
	}
	tables.Style &^= yaml.FlowStyle
	for i := 0; i+1 < len(set.Content[0].Content); i += 2 {
		name, entry := set.Content[0].Content[i], set.Content[0].Content[i+1]
		if file != "" {
			found, err := entryName(d, file, name.Value)
			if err != nil {
				return nil, err
			}
			if found != "" && !strings.ContainsAny(found, "*?") {
				setField(tables, found, entry)
				continue
			}
		}
		tables.Content = append(tables.Content, name, entry)
	}
	var merged bytes.Buffer
	encoder := yaml.NewEncoder(&merged)
	encoder.SetIndent(2)
	if err := encoder.Encode(&document); err != nil {
		return nil, err
	}
	if _, err := policy.Parse(merged.Bytes()); err != nil {
		return nil, fmt.Errorf("the policy of the plan: %w", err)
	}
	return merged.Bytes(), nil
}

// entryName returns the name under which a policy file has a table; empty if it has none.
func entryName(d *dialect.Dialect, file, table string) (string, error) {
	rules, _, err := compiled(d, file)
	if err != nil {
		return "", err
	}
	schema, bare, err := rules.ParseName(table)
	if err != nil {
		return "", err
	}
	if found, ok := rules.EntryOf(schema, bare); ok {
		return found.Name, nil
	}
	return "", nil
}
