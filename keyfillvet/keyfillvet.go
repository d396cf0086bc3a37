// Package keyfillvet has an analyzer for the INSERTs in a Go package under a policy of
// keyfill: it reports which INSERTs are errors when they are executed, and where
// LastInsertId does not return the key.
//
// The command "keyfill vet" finds the same faults, reads files of SQL too, and prints a
// summary. The analyzer is for programs that run several analyzers: the go command, by
//
//	go vet -vettool=$(which keyfillvet) ./...
//
// where keyfillvet is the program in cmd/keyfillvet; golangci-lint, whose plugin is in
// package golangci; and a program of one's own, with package multichecker.
//
// # What it reports
//
// A diagnostic has one of these rules as its category:
//
//	keyfill/refused       an INSERT into a table of the policy that cannot be filled
//	keyfill/lastinsertid  LastInsertId after an INSERT whose key is no integer
//	keyfill/dynamic       a text that is put together when the program runs; reported only if asked for
//	keyfill/ignore        a comment of keyfill that turns off no finding, or gives no reason
//
// The comment "//keyfill:ignore RULE REASON" turns findings off. After code it turns off
// the findings of its line. On a line of its own it turns off the findings of the statement
// or declaration below.
//
// # Caveats
//
// Texts that a library builds, such as an ORM, are not in the source.
package keyfillvet

import (
	"cmp"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis"

	"github.com/keyfill/keyfill/internal/gosql"
	"github.com/keyfill/keyfill/internal/vet"
	"github.com/keyfill/keyfill/policy"
)

// Options say which policy an analyzer uses, and which findings it reports. The zero value
// reads the policy from its usual place.
type Options struct {
	// Config is the path of the policy file. If it is empty, the file is the one that
	// $KEYFILL_CONFIG names, or else the nearest keyfill.yaml in the folder of a package or
	// above it, up to the folder of its module. A package that has no policy file is skipped.
	Config string

	// Dialect is the engine, such as mysql, if the policy names none.
	Dialect string

	// Server is the engine, with its version, for which INSERTs are judged, such as
	// postgres@15. If it is empty, they are judged for the newest version.
	Server string

	// Dynamic turns on the rule keyfill/dynamic, which is off by default.
	Dynamic bool
}

// Analyzer is [New] with no options. Its flags config, dialect, server and dynamic set the
// options.
var Analyzer = New(Options{})

// New returns an analyzer. Its flags have the names of the options, and the values of the
// options as their defaults.
//
// A policy is read once in a process. The go command and golangci-lint cache results, and
// do not notice every change of a policy: "go vet -a" and "golangci-lint cache clean" drop
// the cached results.
func New(o Options) *analysis.Analyzer {
	r := &runner{options: o, judges: map[string]*judged{}}
	a := &analysis.Analyzer{
		Name: "keyfill",
		Doc:  doc,
		URL:  "https://github.com/keyfill/keyfill/blob/main/docs/vet.md",
		Run:  r.run,
	}
	a.Flags.StringVar(&r.options.Config, "config", o.Config, "the policy `file` ($KEYFILL_CONFIG, else the nearest keyfill.yaml)")
	a.Flags.StringVar(&r.options.Dialect, "dialect", o.Dialect, "the `engine`, where the policy names none")
	a.Flags.StringVar(&r.options.Server, "server", o.Server, "the `engine@version` to decide for, such as postgres@15 (the newest)")
	a.Flags.BoolVar(&r.options.Dynamic, "dynamic", o.Dynamic, "report texts that are put together when the program runs")
	return a
}

const doc = `show how INSERTs are treated under a policy of keyfill

It finds INSERTs in constants and in what is put together of constants, and reports those
that the policy refuses, and calls of LastInsertId that do not answer the key. A comment
"//keyfill:ignore RULE REASON" turns a finding off.`

// runner runs the analyzer on packages.
type runner struct {
	options Options

	mu     sync.Mutex
	judges map[string]*judged // judges by the path of their policy
}

// judged is a judge, or the error why a policy has none.
type judged struct {
	judge *vet.Judge
	err   error
}

func (r *runner) run(pass *analysis.Pass) (any, error) {
	if len(pass.Files) == 0 {
		return nil, nil
	}
	file := r.options.Config
	if file == "" {
		file = vet.PolicyFile(filepath.Dir(pass.Fset.Position(pass.Files[0].FileStart).Filename))
	}
	if file == "" {
		return nil, nil
	}
	judge, err := r.judge(file)
	if err != nil {
		return nil, err
	}
	for _, f := range judge.Source(pass.Fset, gosql.Source{Package: pass.Pkg, Files: pass.Files, Info: pass.TypesInfo}) {
		if f.Rule == "" || f.Ignored || f.Rule == vet.RuleDynamic && !r.options.Dynamic {
			continue
		}
		pass.Report(analysis.Diagnostic{
			Pos: f.Pos, End: f.EndPos, Category: vet.Prefix + f.Rule, URL: "#" + f.Rule,
			Message: vet.Prefix + f.Rule + ": " + f.Message,
		})
	}
	return nil, nil
}

// judge returns the judge of the policy in a file.
func (r *runner) judge(file string) (*vet.Judge, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.judges[file] == nil {
		j, err := r.newJudge(file)
		r.judges[file] = &judged{j, err}
	}
	return r.judges[file].judge, r.judges[file].err
}

func (r *runner) newJudge(file string) (*vet.Judge, error) {
	c, err := policy.Load(file)
	if err != nil {
		return nil, err
	}
	c.Dialect = cmp.Or(c.Dialect, strings.TrimSpace(r.options.Dialect))
	server, err := vet.ParseServer(strings.TrimSpace(r.options.Server))
	if err != nil {
		return nil, err
	}
	return vet.NewJudgeOn(c, server)
}
