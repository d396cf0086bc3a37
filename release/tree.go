package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/module"
	"golang.org/x/mod/sumdb/dirhash"
	"golang.org/x/mod/zip"
)

// tree holds the files of a commit in the form that they have in a release.
type tree struct {
	folder  string
	version string
	ws      *workspace
	changed map[string][]byte // the go.mod and go.sum files that differ from the files of the commit
}

// released exports a commit into an empty folder and gives its modules the form of a
// release. It returns an error if modules do not fit one another.
func released(ctx context.Context, s *source, folder, version string) (*tree, error) {
	if err := s.export(ctx, folder); err != nil {
		return nil, err
	}
	ws, err := readWorkspace(os.DirFS(folder))
	if err != nil {
		return nil, err
	}
	if err := ws.check(); err != nil {
		return nil, err
	}
	if v := ws.version(); v != unreleased && v != version {
		return nil, fmt.Errorf("the commit has the form of the release %s: give that version", v)
	}
	t := &tree{folder: folder, version: version, ws: ws, changed: map[string][]byte{}}
	// The sums of the root module can be computed first, since the other modules, whose
	// files change below, are not part of its zip.
	zipSum, modSum, err := t.sums(ws.root())
	if err != nil {
		return nil, err
	}
	for _, m := range ws.modules {
		text, err := ws.releasedForm(m, version)
		if err != nil {
			return nil, err
		}
		root := module.Version{Path: ws.root().path(), Version: version}
		if err := t.write(path.Join(m.folder, "go.mod"), text); err != nil {
			return nil, err
		}
		if err := t.write(path.Join(m.folder, "go.sum"), ws.releasedSums(m, root, zipSum, modSum)); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// write writes a file, unless the commit has it in the same form.
func (t *tree) write(name string, text []byte) error {
	file := filepath.Join(t.folder, filepath.FromSlash(name))
	if was, err := os.ReadFile(file); err == nil && bytes.Equal(was, text) || err != nil && len(text) == 0 {
		return nil
	}
	t.changed[name] = text
	return os.WriteFile(file, text, 0o644)
}

// sums returns the sums of a module and of its go.mod, as go.sum has them.
func (t *tree) sums(m member) (zipSum, modSum string, err error) {
	file, err := os.CreateTemp("", "keyfill-module-")
	if err != nil {
		return "", "", err
	}
	defer os.Remove(file.Name())
	defer file.Close()
	if err := t.zip(file, m); err != nil {
		return "", "", err
	}
	if zipSum, err = dirhash.HashZip(file.Name(), dirhash.Hash1); err != nil {
		return "", "", err
	}
	modSum, err = dirhash.Hash1([]string{"go.mod"}, func(string) (io.ReadCloser, error) {
		return os.Open(filepath.Join(t.folder, m.folder, "go.mod"))
	})
	return zipSum, modSum, err
}

// zip writes a module as module proxies serve it: a module in a folder without a license
// has the root's.
func (t *tree) zip(w io.Writer, m member) error {
	folder := filepath.Join(t.folder, m.folder)
	if terms, err := os.ReadFile(filepath.Join(t.folder, "LICENSE")); err == nil && m.folder != "." {
		own := filepath.Join(folder, "LICENSE")
		if _, err := os.Stat(own); err != nil {
			if err := os.WriteFile(own, terms, 0o644); err != nil {
				return err
			}
			defer os.Remove(own)
		}
	}
	return zip.CreateFromDir(w, module.Version{Path: m.path(), Version: t.version}, folder)
}

// proxy writes the published modules into a folder as a module proxy serves them, for
// GOPROXY=file://….
func (t *tree) proxy(s *source, folder string) error {
	for _, m := range t.ws.published() {
		name, err := module.EscapePath(m.path())
		if err != nil {
			return err
		}
		at := filepath.Join(folder, filepath.FromSlash(name), "@v")
		if err := os.MkdirAll(at, 0o755); err != nil {
			return err
		}
		info, err := json.Marshal(map[string]any{"Version": t.version, "Time": s.time})
		if err != nil {
			return err
		}
		gomod, err := os.ReadFile(filepath.Join(t.folder, m.folder, "go.mod"))
		if err != nil {
			return err
		}
		var files bytes.Buffer
		if err := t.zip(&files, m); err != nil {
			return err
		}
		for ending, data := range map[string][]byte{".info": info, ".mod": gomod, ".zip": files.Bytes()} {
			if err := os.WriteFile(filepath.Join(at, t.version+ending), data, 0o644); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(at, "list"), []byte(t.version+"\n"), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// tag commits the files as a release has them, on no branch, and gives the commit the tags
// of all published modules. It changes no file and no branch, and sends nothing.
func tag(ctx context.Context, s *source, version string, out io.Writer) error {
	folder, err := os.MkdirTemp("", "keyfill-release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	files := filepath.Join(folder, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		return err
	}
	t, err := released(ctx, s, files, version)
	if err != nil {
		return err
	}
	var tags []string
	for _, m := range t.ws.published() {
		name := path.Join(m.folder, version) // the tag of the root module is the version alone
		known, err := s.git(ctx, nil, "tag", "--list", name)
		if err != nil {
			return err
		}
		if known != "" {
			return fmt.Errorf("the tag %s is there: give a new version", name)
		}
		tags = append(tags, name)
	}
	commit, err := t.commit(ctx, s, filepath.Join(folder, "index"))
	if err != nil {
		return err
	}
	for _, name := range tags {
		if _, err := s.git(ctx, nil, "tag", name, commit); err != nil {
			return err
		}
	}
	// The root's tag is pushed separately, because GitHub runs no workflow if more than
	// three tags are pushed at once.
	fmt.Fprintf(out, "tagged %s; send it by\n\n\tgit push origin %s\n\tgit push origin %s\n", commit, strings.Join(tags[1:], " "), tags[0])
	return nil
}

// commit commits the files that differ, as a child of the source's commit, with the same
// time: what is built from either commit has the same bytes. The git index of the
// repository is not touched: index names a separate file.
func (t *tree) commit(ctx context.Context, s *source, index string) (string, error) {
	date := s.time.Format("2006-01-02T15:04:05Z")
	env := []string{"GIT_INDEX_FILE=" + index, "GIT_AUTHOR_DATE=" + date, "GIT_COMMITTER_DATE=" + date}
	if _, err := s.git(ctx, env, "read-tree", s.commit); err != nil {
		return "", err
	}
	for _, name := range slices.Sorted(maps.Keys(t.changed)) {
		blob, err := s.gitFrom(ctx, bytes.NewReader(t.changed[name]), env, "hash-object", "-w", "--stdin")
		if err != nil {
			return "", err
		}
		if _, err := s.git(ctx, env, "update-index", "--add", "--cacheinfo", "100644,"+blob+","+name); err != nil {
			return "", err
		}
	}
	files, err := s.git(ctx, env, "write-tree")
	if err != nil {
		return "", err
	}
	message := "release: " + t.version + "\n\nThe modules require one another in this version, and replace nothing."
	return s.git(ctx, env, "commit-tree", "-p", s.commit, "-m", message, files)
}
