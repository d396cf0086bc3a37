package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	"golang.org/x/mod/semver"
)

// unpublished are the modules that are not imported outside of the repository. Their go.mod
// files keep the replace directives, and they get no tag.
var unpublished = []string{"bench", "e2e", "examples", "examples/kubernetes", "faults", "judge", "keyfilletcd/newest", "release", "suites"}

// member is a module of go.work.
type member struct {
	folder string // the module's folder below the root, with slashes; "." for the root module
	file   *modfile.File
	sums   []byte // go.sum
}

// path returns the path of the module.
func (m member) path() string { return m.file.Module.Mod.Path }

// isPublished reports whether users import the module.
func (m member) isPublished() bool { return !slices.Contains(unpublished, m.folder) }

// isLibrary reports whether applications import the module. Such a module requires the
// oldest version of a dependency with which its tests pass, and any other one a new version.
func (m member) isLibrary() bool {
	return m.isPublished() && m.folder != command && m.folder != "keyfillvet"
}

// workspace is the modules of go.work. The root module is the first one.
type workspace struct {
	goVersion string
	modules   []member
}

// readWorkspace reads go.work, and go.mod and go.sum of its modules.
func readWorkspace(files fs.FS) (*workspace, error) {
	text, err := fs.ReadFile(files, "go.work")
	if err != nil {
		return nil, err
	}
	work, err := modfile.ParseWork("go.work", text, nil)
	if err != nil {
		return nil, err
	}
	ws := &workspace{}
	if work.Go != nil {
		ws.goVersion = work.Go.Version
	}
	for _, use := range work.Use {
		m := member{folder: path.Clean(use.Path)}
		name := path.Join(m.folder, "go.mod")
		if text, err = fs.ReadFile(files, name); err != nil {
			return nil, err
		}
		if m.file, err = modfile.Parse(name, text, nil); err != nil {
			return nil, err
		}
		// If the file is missing, the module has no dependencies, and so no sums.
		if m.sums, err = fs.ReadFile(files, path.Join(m.folder, "go.sum")); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		ws.modules = append(ws.modules, m)
	}
	slices.SortFunc(ws.modules, func(a, b member) int { return strings.Compare(a.folder, b.folder) })
	if len(ws.modules) == 0 || ws.modules[0].folder != "." {
		return nil, errors.New("go.work has no line for the root module: add it")
	}
	return ws, nil
}

// root returns the root module.
func (ws *workspace) root() member { return ws.modules[0] }

// published returns the modules that users import.
func (ws *workspace) published() []member {
	return slices.DeleteFunc(slices.Clone(ws.modules), func(m member) bool { return !m.isPublished() })
}

// member returns the module with a path.
func (ws *workspace) member(modulePath string) (member, bool) {
	i := slices.IndexFunc(ws.modules, func(m member) bool { return m.path() == modulePath })
	if i < 0 {
		return member{}, false
	}
	return ws.modules[i], true
}

// check returns an error that lists everything in which the modules do not fit together.
func (ws *workspace) check() error {
	var all []error
	newest, oldest := requirements{}, requirements{}
	for _, m := range ws.modules {
		all = append(all, ws.checkHead(m), ws.checkOurs(m))
		for _, r := range m.file.Require {
			if _, ours := ws.member(r.Mod.Path); ours || r.Indirect {
				continue
			}
			if m.isLibrary() {
				oldest.add(r.Mod, m.folder)
			} else {
				newest.add(r.Mod, m.folder)
			}
		}
	}
	all = append(all, newest.check(), oldest.check())
	for _, dependency := range slices.Sorted(maps.Keys(oldest)) {
		old, recent := oldest.version(dependency), newest.version(dependency)
		if recent != "" && semver.Compare(old, recent) > 0 {
			all = append(all, fmt.Errorf("%s is %s in modules for applications, and %s in others: let no module for applications require a newer one", dependency, old, recent))
		}
	}
	return errors.Join(all...)
}

// requirements are the folders of the modules that require a dependency, by dependency and
// version.
type requirements map[string]map[string][]string

// add notes that the module in a folder requires a dependency.
func (r requirements) add(dependency module.Version, folder string) {
	if r[dependency.Path] == nil {
		r[dependency.Path] = map[string][]string{}
	}
	r[dependency.Path][dependency.Version] = append(r[dependency.Path][dependency.Version], folder)
}

// version returns the version of a dependency, the newest one if there are several. It is
// empty if no module requires the dependency.
func (r requirements) version(dependency string) string {
	newest := ""
	for version := range r[dependency] {
		if semver.Compare(version, newest) > 0 {
			newest = version
		}
	}
	return newest
}

// check returns an error for each dependency with two versions.
func (r requirements) check() error {
	var all []error
	for _, dependency := range slices.Sorted(maps.Keys(r)) {
		if versions := r[dependency]; len(versions) > 1 {
			all = append(all, fmt.Errorf("%s has the versions %v: require the same one everywhere", dependency, versions))
		}
	}
	return errors.Join(all...)
}

// checkHead checks the name of a module and its version of Go.
func (ws *workspace) checkHead(m member) error {
	var all []error
	if want := path.Join(ws.root().path(), m.folder); m.path() != want {
		all = append(all, fmt.Errorf("%s/go.mod is the module %s: call it %s", m.folder, m.path(), want))
	}
	if m.file.Go == nil || m.file.Go.Version != ws.goVersion {
		all = append(all, fmt.Errorf("%s/go.mod has another version of Go than go.work: write go %s", m.folder, ws.goVersion))
	}
	if m.file.Toolchain != nil {
		all = append(all, fmt.Errorf("%s/go.mod names a toolchain: remove the line", m.folder))
	}
	return errors.Join(all...)
}

// checkOurs checks what go.mod of a module says about the other modules of go.work: it
// requires all of them in one version, and replaces each by its folder. In the form of a
// release, the go.mod of a published module has no replacements.
func (ws *workspace) checkOurs(m member) error {
	var all []error
	want := ""
	for _, r := range m.file.Require {
		other, ours := ws.member(r.Mod.Path)
		if !ours {
			continue
		}
		if want == "" {
			want = ws.version()
		}
		if r.Mod.Version != want {
			all = append(all, fmt.Errorf("%s/go.mod requires %s %s, and others %s: write the same version", m.folder, r.Mod.Path, r.Mod.Version, want))
		}
		if m.isPublished() && other.folder != "." {
			all = append(all, fmt.Errorf("%s/go.mod requires %s: let a module for users require the root module alone", m.folder, r.Mod.Path))
		}
		if m.isPublished() && want != unreleased {
			continue
		}
		if folder := ws.replaced(m, other); folder != other.folder {
			all = append(all, fmt.Errorf("%s/go.mod does not replace %s by its folder %q", m.folder, r.Mod.Path, other.folder))
		}
	}
	for _, r := range m.file.Replace {
		isRequired := slices.ContainsFunc(m.file.Require, func(q *modfile.Require) bool { return q.Mod.Path == r.Old.Path })
		if _, ours := ws.member(r.Old.Path); ours && !isRequired {
			all = append(all, fmt.Errorf("%s/go.mod replaces %s, which it does not require: remove the line", m.folder, r.Old.Path))
		} else if m.isPublished() && (!ours || want != unreleased) {
			all = append(all, fmt.Errorf("%s/go.mod replaces %s, so that nobody can install it by its version: remove the line", m.folder, r.Old.Path))
		}
	}
	return errors.Join(all...)
}

// unreleased is the version of the root module in go.mod files that replace it by a folder.
const unreleased = "v0.0.0"

// version returns the version in which the modules require the root module.
func (ws *workspace) version() string {
	for _, m := range ws.modules {
		for _, r := range m.file.Require {
			if r.Mod.Path == ws.root().path() {
				return r.Mod.Version
			}
		}
	}
	return unreleased
}

// replaced returns the folder below the root by which a module replaces another one.
func (ws *workspace) replaced(m, other member) string {
	for _, r := range m.file.Replace {
		if r.Old.Path == other.path() {
			return path.Join(m.folder, r.New.Path)
		}
	}
	return ""
}

// releasedForm returns go.mod of a module as it is in a release.
func (ws *workspace) releasedForm(m member, version string) ([]byte, error) {
	text, err := m.file.Format()
	if err != nil {
		return nil, err
	}
	file, err := modfile.Parse(path.Join(m.folder, "go.mod"), text, nil)
	if err != nil {
		return nil, err
	}
	for _, r := range slices.Clone(file.Require) {
		if _, ours := ws.member(r.Mod.Path); !ours {
			continue
		}
		if err := file.AddRequire(r.Mod.Path, version); err != nil {
			return nil, err
		}
	}
	for _, r := range slices.Clone(file.Replace) {
		if _, ours := ws.member(r.Old.Path); !ours || !m.isPublished() {
			continue
		}
		if err := file.DropReplace(r.Old.Path, r.Old.Version); err != nil {
			return nil, err
		}
	}
	file.Cleanup()
	return file.Format()
}

// releasedSums returns go.sum of a module as it is in a release: with both sums of the root
// module, if the module requires it.
func (ws *workspace) releasedSums(m member, root module.Version, zipSum, modSum string) []byte {
	if !m.isPublished() || m.folder == "." {
		return m.sums
	}
	ours := fmt.Sprintf("%s %s %s\n%[1]s %[2]s/go.mod %[4]s\n", root.Path, root.Version, zipSum, modSum)
	var before, after strings.Builder
	for line := range strings.Lines(string(m.sums)) {
		switch dependency, _, _ := strings.Cut(line, " "); {
		case dependency == root.Path: // drop the sum of an earlier release
		case dependency < root.Path:
			before.WriteString(line)
		default:
			after.WriteString(line)
		}
	}
	return []byte(before.String() + ours + after.String())
}
