package suites

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/keyfill/keyfill/suites/filled"
)

// Program is the test program of a suite. It runs plain, and through keyfill.
type Program struct {
	suite *Suite
	file  string // the compiled test program
	place string // the folder of the program's package, in which the program runs
}

// Build builds the program of a suite in an empty folder. The suite comes from the module
// proxy, and keyfill from the repository in root.
func Build(ctx context.Context, s *Suite, root, folder string) (*Program, error) {
	module := filepath.Join(folder, "module")
	if err := download(ctx, s, module); err != nil {
		return nil, err
	}
	if err := s.change(module); err != nil {
		return nil, err
	}
	p := &Program{suite: s, file: filepath.Join(folder, "suite.test"), place: filepath.Join(module, filepath.FromSlash(s.Folder))}
	if err := p.importDrivers(); err != nil {
		return nil, err
	}
	const keyfill = "github.com/keyfill/keyfill"
	edit := []string{
		"mod", "edit", "-go=1.26.0", "-toolchain=none",
		"-require=" + keyfill + "@v0.0.0", "-replace=" + keyfill + "=" + root,
		"-require=" + keyfill + "/suites@v0.0.0", "-replace=" + keyfill + "/suites=" + filepath.Join(root, "suites"),
	}
	for _, pin := range s.Pins {
		path, _, _ := strings.Cut(pin, "@")
		edit = append(edit, "-replace="+path+"="+pin)
	}
	if _, err := command(ctx, module, edit...); err != nil {
		return nil, err
	}
	// -mod=mod is needed because the packages below filled may require later versions of
	// modules than the suite. The plain run has the same versions.
	_, err := command(ctx, p.place, "test", "-c", "-mod=mod", "-vet=off", "-tags="+s.Tags, "-o", p.file, ".")
	return p, err
}

// download copies the suite into a folder, where it may be changed.
func download(ctx context.Context, s *Suite, folder string) error {
	text, err := command(ctx, os.TempDir(), "mod", "download", "-json", s.Module+"@"+s.Version)
	if err != nil {
		return err
	}
	var said struct{ Dir string }
	if err := json.Unmarshal(text, &said); err != nil {
		return err
	}
	if err := os.CopyFS(folder, os.DirFS(said.Dir)); err != nil {
		return err
	}
	// The module cache is read-only, and so is its copy.
	return filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			return os.Chmod(name, 0o755)
		}
		return os.Chmod(name, 0o644)
	})
}

// command runs the go command and returns what it writes.
func command(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s%s", strings.Join(args, " "), err, said.Bytes(), out.Bytes())
	}
	return out.Bytes(), nil
}

// change makes the edits of the suite in a copy of its module.
func (s *Suite) change(module string) error {
	for _, e := range s.Edits {
		name := filepath.Join(module, filepath.FromSlash(e.File))
		text, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		changed := strings.ReplaceAll(string(text), e.Old, e.New)
		if changed == string(text) {
			return fmt.Errorf("%s does not have the text %q", e.File, e.Old)
		}
		if err := os.WriteFile(name, []byte(changed), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// importDrivers adds a file to the package that imports the packages below filled.
func (p *Program) importDrivers() error {
	name, err := packageName(p.place)
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "package %s\n\nimport (\n", name)
	for _, r := range p.suite.Runs {
		fmt.Fprintf(&text, "\t_ \"github.com/keyfill/keyfill/suites/filled/%s\"\n", r.Driver)
	}
	text.WriteString(")\n")
	return os.WriteFile(filepath.Join(p.place, "keyfill_suites_test.go"), []byte(text.String()), 0o644)
}

// packageName returns the package of the tests in a folder: the one outside of the package
// under test if there is one, since a driver may import keyfill.
func packageName(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*_test.go"))
	if err != nil {
		return "", err
	}
	var name string
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
		if err != nil {
			return "", err
		}
		if name = parsed.Name.Name; strings.HasSuffix(name, "_test") {
			break
		}
	}
	if name == "" {
		return "", fmt.Errorf("%s has no tests", folder)
	}
	return name, nil
}

// Place is the empty database and the empty folder of one run.
type Place struct {
	Base   string // the DSN of the database, without parameters
	Folder string // the folder for files of the run
}

// Run runs all tests of the program. If a test ends the program, Run starts it again for
// the tests that have no result, in a new place (database and folder). If policy is nil,
// the run is plain.
func (p *Program) Run(ctx context.Context, r Run, policy []byte, newPlace func() Place) (*Outcome, filled.Counts, error) {
	var sum filled.Counts
	left, err := p.list(ctx, r, newPlace())
	if err != nil {
		return nil, sum, err
	}
	if len(left) == 0 {
		return nil, sum, errors.New("the suite has no tests")
	}
	all := &Outcome{Results: map[string]string{}, Output: map[string]string{}}
	for pattern := r.Tests; ; pattern = "^(" + strings.Join(left, "|") + ")$" {
		one := execution{program: p, run: r, place: newPlace(), policy: policy}
		o, counts, err := one.do(ctx, pattern)
		if err != nil {
			return nil, sum, err
		}
		sum.Add(counts)
		all.merge(o)
		before := len(left)
		left = slices.DeleteFunc(left, func(name string) bool { _, ok := o.Results[name]; return ok })
		if len(left) == 0 {
			return all, sum, nil
		}
		if len(left) == before {
			return nil, sum, fmt.Errorf("%d tests have no result, such as %s:\n%s", len(left), left[0], tail(o.Output[""]))
		}
	}
}

// testName is a line of -test.list.
var testName = regexp.MustCompile(`^(Test|Example)\w*$`)

// list returns the names of the tests.
func (p *Program) list(ctx context.Context, r Run, place Place) ([]string, error) {
	one := execution{program: p, run: r, place: place}
	pattern := r.Tests
	if pattern == "" {
		pattern = "."
	}
	cmd := exec.CommandContext(ctx, p.file, append([]string{"-test.list=" + pattern}, one.args()...)...)
	cmd.Dir, cmd.Env = p.place, one.env()
	text, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("the list of tests: %w\n%s", err, tail(string(text)))
	}
	skip := regexp.MustCompile("$^")
	if p.suite.Skip != "" {
		if skip, err = regexp.Compile(p.suite.Skip); err != nil {
			return nil, err
		}
	}
	var names []string
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); testName.MatchString(line) && !skip.MatchString(line) {
			names = append(names, line)
		}
	}
	return names, nil
}

// execution is one start of a program.
type execution struct {
	program *Program
	run     Run
	place   Place
	policy  []byte
}

func (e *execution) fill(text string) string {
	return strings.NewReplacer("{base}", e.place.Base, "{folder}", e.place.Folder).Replace(text)
}

func (e *execution) args() []string {
	var args []string
	for _, arg := range e.run.Args {
		args = append(args, e.fill(arg))
	}
	return args
}

func (e *execution) env() []string {
	env := os.Environ()
	for name, value := range e.run.Env {
		env = append(env, name+"="+e.fill(value))
	}
	return env
}

// timeLimit ends a program with a test that hangs. The test that hangs then counts as
// failed.
const timeLimit = "15m"

// do starts the program, waits for its end, and returns the results.
func (e *execution) do(ctx context.Context, pattern string) (*Outcome, filled.Counts, error) {
	var counts filled.Counts
	args := []string{"tool", "test2json", "-t", e.program.file, "-test.v=test2json", "-test.paniconexit0", "-test.timeout=" + timeLimit}
	if pattern != "" {
		args = append(args, "-test.run="+pattern)
	}
	if skip := e.program.suite.Skip; skip != "" {
		args = append(args, "-test.skip="+skip)
	}
	cmd := exec.CommandContext(ctx, "go", append(args, e.args()...)...)
	cmd.Dir, cmd.Env = e.program.place, e.env()
	countsFile := filepath.Join(e.place.Folder, "keyfill-counts.json")
	if e.policy != nil {
		file := filepath.Join(e.place.Folder, "keyfill-policy.yaml")
		if err := os.WriteFile(file, e.policy, 0o600); err != nil {
			return nil, counts, err
		}
		cmd.Env = append(cmd.Env, filled.DriverVariable+"="+e.run.Driver,
			filled.PolicyVariable+"="+file, filled.CountsVariable+"="+countsFile)
	}
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	runErr := cmd.Run()
	if err := keep(e, out.Bytes(), said.Bytes()); err != nil {
		return nil, counts, err
	}
	o, err := ReadOutcome(&out)
	if err != nil {
		return nil, counts, err
	}
	o.Output[""] += said.String()
	if runErr != nil && len(o.Failed()) == 0 {
		o.Results["TestMain"] = fail
	}
	if e.policy == nil {
		return o, counts, nil
	}
	text, err := os.ReadFile(countsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return o, counts, nil // no file was written, since keyfill has seen no INSERT
	}
	if err != nil {
		return nil, counts, err
	}
	return o, counts, json.Unmarshal(text, &counts)
}

// keep writes the policy and the output of a program into a file of the folder that
// $KEYFILL_SUITES_OUTPUT names.
func keep(e *execution, out, said []byte) error {
	folder := os.Getenv("KEYFILL_SUITES_OUTPUT")
	if folder == "" {
		return nil
	}
	name := e.program.suite.Name + "." + e.run.Driver + ".*.json"
	file, err := os.CreateTemp(folder, name)
	if err != nil {
		return err
	}
	_, err = file.Write(slices.Concat(e.policy, out, said))
	return errors.Join(err, file.Close())
}

// tail returns the end of a text.
func tail(text string) string {
	const most = 4000
	if len(text) > most {
		return "…" + text[len(text)-most:]
	}
	return text
}
