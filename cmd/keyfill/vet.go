package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/terminal"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/vetreport"
	"github.com/keyfill/keyfill/internal/vet"
	"github.com/keyfill/keyfill/policy"
)

// vetFlags are the flags of keyfill vet.
type vetFlags struct {
	config, dialect string
	server          string
	database        database.Address
	asJSON, asSARIF bool
	all, tests      bool
	failOn          []string
}

func newVet() *cobra.Command {
	var f vetFlags
	cmd := &cobra.Command{
		Use:         "vet [PACKAGES]",
		Short:       "Show what keyfill does with INSERTs in Go packages and .sql files",
		Long:        vetHelp,
		Example:     "  keyfill vet --dialect sqlite ./...",
		Annotations: map[string]string{exitKey: "Exit code: 0 nothing found, 1 findings, 2 not everything could be read."},
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(); err != nil {
				return err
			}
			return f.run(cmd, args)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "the policy `file` ($KEYFILL_CONFIG, else ./keyfill.yaml)")
	flags.StringVar(&f.dialect, "dialect", "", "the `engine`, where the policy names none")
	flags.StringVar(&f.server, "server", "", "decide for an `engine@version`")
	addDatabase(cmd, &f.database)
	flags.BoolVar(&f.all, "all", false, "list every INSERT")
	flags.BoolVar(&f.tests, "tests", false, "read files of tests too")
	flags.BoolVar(&f.asJSON, "json", false, "print JSON, one INSERT or finding a line")
	flags.BoolVar(&f.asSARIF, "sarif", false, "print SARIF 2.1.0")
	flags.StringSliceVar(&f.failOn, "fail-on", []string{vet.RuleRefused, vet.RuleLastInsertID, vet.RuleIgnore}, "the `rules` that make the exit code 1, or none")
	completes(cmd, "fail-on", append(vet.RuleNames(), "none")...)
	return cmd
}

const vetHelp = `Shows what keyfill does with the INSERTs in PACKAGES of the go command (default ./...)
and in .sql files: fill, keep, pass, refuse, or dynamic (known when the program runs). --driver
names a database to ask, as in keyfill explain. //keyfill:ignore RULE REASON turns a
finding off. docs/vet.md has the rules.`

// check returns an error if flags contradict each other.
func (f *vetFlags) check() error {
	if f.asJSON && f.asSARIF {
		return usage.Errorf("--json and --sarif print different things: take one")
	}
	if !f.database.IsEmpty() && f.dialect+f.server != "" {
		return usage.Errorf("the database shows the dialect and its version: leave --dialect and --server out")
	}
	if len(f.failOn) == 0 {
		return usage.Errorf("--fail-on names no rule: take some of %s, or none", strings.Join(vet.RuleNames(), ", "))
	}
	for _, name := range f.failOn {
		if name != "none" && !slices.Contains(vet.RuleNames(), name) {
			return usage.Errorf("--fail-on knows no rule %q: take some of %s, or none", name, strings.Join(vet.RuleNames(), ", "))
		}
	}
	return nil
}

// errVet is returned after the findings were printed, if a rule of --fail-on has findings.
var errVet = errors.New("there are findings: mend them, or see docs/vet.md")

func (f *vetFlags) run(cmd *cobra.Command, patterns []string) error {
	cfg, err := loadPolicy(f.config)
	if err != nil {
		return &codeError{exitUsage, err}
	}
	judge, asked, err := f.judge(cmd.Context(), cfg)
	if err != nil {
		return &codeError{exitUsage, err}
	}
	defer asked.Release()
	if len(patterns) == 0 {
		patterns = []string{"./..."}
	}
	v, err := vetreport.Read(cmd.Context(), judge, patterns, f.tests)
	if err != nil {
		return &codeError{exitUsage, err}
	}
	if asked.Failed != nil {
		v.Faults = append(v.Faults, asked.Failed)
	}
	v.Sort()
	if err := f.print(cmd.OutOrStdout(), v); err != nil {
		return err
	}
	if len(v.Faults) > 0 {
		return &codeError{exitUsage, errors.Join(v.Faults...)}
	}
	if slices.ContainsFunc(v.Findings, func(one vet.Finding) bool {
		return !one.Ignored && one.Rule != "" && slices.Contains(f.failOn, one.Rule)
	}) {
		return &codeError{exitError, errVet}
	}
	return nil
}

// judge returns the judge (which decides about INSERTs) for a policy, and the database that
// the judge asks; nil if the flags name none.
func (f *vetFlags) judge(ctx context.Context, cfg *policy.Config) (*vet.Judge, *vetreport.AskedDatabase, error) {
	server, err := vet.ParseServer(f.server)
	if err != nil {
		return nil, nil, err
	}
	if !f.database.IsEmpty() {
		if _, err := f.database.DialectFor(ctx, cfg); err != nil {
			return nil, nil, err
		}
	}
	name := f.dialect
	if cfg.Dialect == "" {
		name = cmp.Or(name, server.Dialect)
	}
	if _, err := joinDialect(cfg, name); err != nil {
		return nil, nil, err
	}
	judge, err := vet.NewJudgeOn(cfg, server)
	if err != nil || f.database.IsEmpty() {
		return judge, &vetreport.AskedDatabase{}, err
	}
	x, err := f.database.Explainer(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	asked := &vetreport.AskedDatabase{OnDatabase: x}
	return judge.With(asked), asked, nil
}

// print prints the report in the form that the flags ask for.
func (f *vetFlags) print(out io.Writer, v *vetreport.Report) error {
	w, form := bufio.NewWriter(out), &vetreport.Form{All: f.all, FailOn: f.failOn}
	switch {
	case f.asJSON:
		if err := v.PrintJSON(w); err != nil {
			return err
		}
	case f.asSARIF:
		if err := v.PrintSARIF(w, moduleVersion(), form); err != nil {
			return err
		}
	default:
		v.PrintText(w, terminal.ColoursOf(out), form)
	}
	return w.Flush()
}
