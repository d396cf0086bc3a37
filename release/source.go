package main

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// source is the last commit of a repository.
type source struct {
	folder string
	commit string
	time   time.Time // the time of the commit, which all files of a release get
}

// open finds the last commit of the repository in a folder. It returns an error if
// something is not committed, since uncommitted changes would not be in the release.
func open(ctx context.Context, folder string) (*source, error) {
	s := &source{folder: folder}
	changed, err := s.git(ctx, nil, "status", "--porcelain")
	if err != nil {
		return nil, err
	}
	if changed != "" {
		return nil, fmt.Errorf("files are not committed: commit them or put them aside:\n%s", changed)
	}
	if s.commit, err = s.git(ctx, nil, "rev-parse", "HEAD"); err != nil {
		return nil, err
	}
	text, err := s.git(ctx, nil, "show", "--no-patch", "--format=%cI", "HEAD")
	if err != nil {
		return nil, err
	}
	if s.time, err = time.Parse(time.RFC3339, text); err != nil {
		return nil, err
	}
	s.time = s.time.UTC()
	return s, nil
}

// git runs git in the repository, with more variables in its environment, and returns
// what it prints.
func (s *source) git(ctx context.Context, env []string, args ...string) (string, error) {
	return s.gitFrom(ctx, nil, env, args...)
}

// gitFrom does what git does, with an input.
func (s *source) gitFrom(ctx context.Context, input io.Reader, env []string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir, cmd.Env, cmd.Stdin = s.folder, append(os.Environ(), env...), input
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("git %s: %w\n%s", args[0], err, strings.TrimSpace(errOut.String()))
	}
	return strings.TrimRight(out.String(), "\n"), nil
}

// export writes the files of the commit into an empty folder. Line ends are as the go
// command makes git write them.
func (s *source) export(ctx context.Context, folder string) error {
	text, err := s.git(ctx, nil, "-c", "core.autocrlf=input", "-c", "core.eol=lf", "archive", "--format=tar", s.commit)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return err
	}
	defer root.Close()
	for files := tar.NewReader(strings.NewReader(text)); ; {
		head, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if head.Typeflag != tar.TypeReg {
			continue // skip folders, which are made for their files, and links, which a module cannot have
		}
		if err := root.MkdirAll(filepath.Dir(head.Name), 0o755); err != nil {
			return err
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return err
		}
		if err := root.WriteFile(head.Name, data, head.FileInfo().Mode().Perm()); err != nil {
			return err
		}
	}
}
