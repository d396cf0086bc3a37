package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// platforms are the platforms for which a release has an archive.
var platforms = []string{"darwin/amd64", "darwin/arm64", "linux/amd64", "linux/arm64", "windows/amd64", "windows/arm64"}

// command is the folder of the command that is released.
const command = "cmd/keyfill"

// builder builds the files of one release.
type builder struct {
	source    *source
	version   string
	platforms []string
	log       io.Writer
}

// release writes the files of the release into a folder, which must be empty or absent. If
// compare is true, it builds everything a second time, in other folders and without
// anything that the first build has left, and a file that differs is an error.
func (b *builder) release(ctx context.Context, folder string, compare bool) error {
	if entries, err := os.ReadDir(folder); err == nil && len(entries) > 0 {
		return fmt.Errorf("the folder %s is not empty: remove it or give another one by -out", folder)
	}
	files, err := b.build(ctx, "")
	if err != nil {
		return err
	}
	if compare {
		again, err := b.buildAfresh(ctx)
		if err != nil {
			return err
		}
		if err := equal(files, again); err != nil {
			return err
		}
		fmt.Fprintf(b.log, "built twice, %d files are equal\n", len(files))
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if err := os.WriteFile(filepath.Join(folder, name), files[name], 0o644); err != nil {
			return err
		}
		fmt.Fprintf(b.log, "%9d %s\n", len(files[name]), filepath.Join(folder, name))
	}
	return nil
}

// buildAfresh builds with an empty build cache.
func (b *builder) buildAfresh(ctx context.Context) (map[string][]byte, error) {
	cache, err := os.MkdirTemp("", "keyfill-cache-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(cache)
	return b.build(ctx, cache)
}

// equal returns an error that names the files that differ.
func equal(a, b map[string][]byte) error {
	var all []error
	for name := range a {
		if !bytes.Equal(a[name], b[name]) {
			all = append(all, fmt.Errorf("built twice, %s differs", name))
		}
	}
	if len(a) != len(b) {
		all = append(all, fmt.Errorf("built twice, there are %d and %d files", len(a), len(b)))
	}
	return errors.Join(all...)
}

// build returns the files of the release by their names. It uses the build cache of the
// user, unless cache names another folder.
func (b *builder) build(ctx context.Context, cache string) (map[string][]byte, error) {
	work, err := os.MkdirTemp("", "keyfill-release-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(work)
	tree, err := released(ctx, b.source, work, b.version)
	if err != nil {
		return nil, err
	}
	proxy, err := os.MkdirTemp("", "keyfill-proxy-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(proxy)
	if err := tree.proxy(b.source, proxy); err != nil {
		return nil, err
	}
	terms, err := os.ReadFile(filepath.Join(work, "LICENSE"))
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	for _, platform := range b.platforms {
		if !slices.Contains(platforms, platform) {
			return nil, fmt.Errorf("there is no platform %q: choose of %q", platform, platforms)
		}
		binary, err := b.install(ctx, tree, proxy, cache, platform)
		if err != nil {
			return nil, err
		}
		if err := b.pack(files, binary, terms, platform, tree); err != nil {
			return nil, err
		}
	}
	files["SHA256SUMS"] = sums(files)
	return files, nil
}

// install returns the command, built for a platform.
func (b *builder) install(ctx context.Context, t *tree, proxy, cache, platform string) ([]byte, error) {
	home, err := os.MkdirTemp("", "keyfill-gopath-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(home)
	cmd, err := t.goInstall(ctx, proxy, home, cache, platform)
	if err != nil {
		return nil, err
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go install for %s: %w\n%s", platform, err, out)
	}
	folder := filepath.Join(home, "bin", strings.ReplaceAll(platform, "/", "_"))
	if platform == runtime.GOOS+"/"+runtime.GOARCH {
		folder = filepath.Join(home, "bin")
	}
	return os.ReadFile(filepath.Join(folder, binaryName(platform)))
}

// goInstall returns the command "go install" with the given flags, which downloads the
// module from a proxy and writes the program into the folder bin of home. Other modules
// come from the module cache of this machine, or from its proxies. No checksum database is
// asked, since it does not know the version: checkInfo compares with go.sum.
func (t *tree) goInstall(ctx context.Context, proxy, home, cache, platform string, flags ...string) (*exec.Cmd, error) {
	env, err := goEnv(ctx, "GOMODCACHE", "GOPROXY", "GOCACHE")
	if err != nil {
		return nil, err
	}
	goos, goarch, _ := strings.Cut(platform, "/")
	args := append([]string{"install", "-trimpath"}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, t.ws.root().path()+"/"+command+"@"+t.version)...)
	cmd.Dir = home // run outside of every module
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GO") && !strings.HasPrefix(v, "CGO_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env,
		"GOENV=off", "GOWORK=off", "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw", "GOSUMDB=off",
		"CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch,
		"GOPATH="+home, "GOCACHE="+cmp.Or(cache, env["GOCACHE"]),
		"GOPROXY=file://"+filepath.ToSlash(proxy)+",file://"+filepath.ToSlash(env["GOMODCACHE"])+"/cache/download,"+env["GOPROXY"])
	return cmd, nil
}

// goEnv returns settings of the go command.
func goEnv(ctx context.Context, names ...string) (map[string]string, error) {
	out, err := exec.CommandContext(ctx, "go", append([]string{"env"}, names...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go env: %w", err)
	}
	values := map[string]string{}
	for i, line := range strings.Split(strings.TrimRight(string(out), "\n"), "\n") {
		values[names[i]] = line
	}
	return values, nil
}

// binaryName returns the name of the command's file.
func binaryName(platform string) string {
	if strings.HasPrefix(platform, "windows/") {
		return "keyfill.exe"
	}
	return "keyfill"
}

// pack adds to files the archive for a platform and the list of the modules that its
// command contains.
func (b *builder) pack(files map[string][]byte, binary, terms []byte, platform string, t *tree) error {
	info, err := buildinfo.Read(bytes.NewReader(binary))
	if err != nil {
		return fmt.Errorf("%s: %w", platform, err)
	}
	m, _ := t.ws.member(t.ws.root().path() + "/" + command)
	gosum, err := os.ReadFile(filepath.Join(t.folder, command, "go.sum"))
	if err != nil {
		return err
	}
	if err := checkInfo(info, m.path(), b.version, platform, string(gosum)); err != nil {
		return fmt.Errorf("%s: %w", platform, err)
	}
	name := "keyfill_" + b.version + "_" + strings.ReplaceAll(platform, "/", "_")
	content := []entry{{binaryName(platform), 0o755, binary}, {"LICENSE", 0o644, terms}}
	if strings.HasPrefix(platform, "windows/") {
		files[name+".zip"], err = zipOf(content, b.source.time)
	} else {
		files[name+".tar.gz"], err = tarOf(content, b.source.time)
	}
	if err != nil {
		return err
	}
	files[name+".cdx.json"], err = partsOf(info, binary, b.source.time)
	return err
}

// sums returns the file that "sha256sum -c" reads.
func sums(files map[string][]byte) []byte {
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(files[name]), name)
	}
	return b.Bytes()
}
