package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/keyfill/keyfill/cmd/keyfill/internal/database"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/plan"
	"github.com/keyfill/keyfill/cmd/keyfill/internal/usage"
)

// planFlags are the flags of keyfill plan.
type planFlags struct {
	database database.Address
	plan.Options
	asJSON bool
}

func newPlan() *cobra.Command {
	var f planFlags
	cmd := &cobra.Command{
		Use:   "plan KIND --driver DRIVER --dsn DSN --table TABLE",
		Short: "Print the steps that bring keyfill into tables, and out of them",
		Long: `Prints steps with SQL and checks, and changes nothing: see docs/adopting.md.
  there     keyfill fills the column, and programs without it go on inserting
  handback  the engine numbers it again; change: another source of keyfill does
  bigint    an integer column that is too narrow becomes one of 64 bits
  uuid      integer keys, and the columns that refer to them, become UUIDs`,
		Example:   `  keyfill plan there --driver sqlite --dsn shop.db --table orders`,
		ValidArgs: plan.Kinds,
		Args:      arguments(onePlan),
		RunE:      func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	addDatabase(cmd, &f.database)
	flags := cmd.Flags()
	flags.StringArrayVar(&f.Tables, "table", nil, "table or schema.`table`, once for each")
	flags.BoolVar(&f.All, "all", false, "all tables that can be planned")
	flags.StringVar(&f.Column, "column", "", "the key column, where the engine numbers none")
	flags.StringVar(&f.Config, "config", "", "the policy `file`, whose entries the plan repeats")
	flags.StringVar(&f.Folder, "dir", "", "write SQL and policies to files in a new `folder`")
	flags.StringVar(&f.Name, "name", "", "of change: the name of the new sequence's state")
	flags.BoolVar(&f.Stopped, "stopped", false, "of there: old programs do not go on")
	flags.Int64Var(&f.Gap, "gap", 0, "by how many numbers the counter is raised")
	flags.StringVar(&f.Layout, "layout", "", "of uuid: binary for keys of 16 bytes")
	flags.BoolVar(&f.asJSON, "json", false, "print one JSON object for each step")
	return cmd
}

func (f *planFlags) run(cmd *cobra.Command, kind string) error {
	switch {
	case !slices.Contains(plan.Kinds, kind):
		return usage.Errorf("there is no plan %q; take there, handback, change, bigint or uuid", kind)
	case (f.Tables == nil) != f.All:
		return usage.Errorf("say --table or --all")
	case f.Column != "" && len(f.Tables) != 1:
		return usage.Errorf("--column is for one --table; plan the table alone")
	case f.Name != "" && kind != "change":
		return usage.Errorf("--name is for keyfill plan change; leave it out")
	case f.Name != "" && len(f.Tables) != 1:
		return usage.Errorf("--name is for one --table; plan the table alone")
	case f.Stopped && kind != "there":
		return usage.Errorf("--stopped is for keyfill plan there; leave it out")
	case f.Layout != "" && kind != "uuid":
		return usage.Errorf("--layout is for keyfill plan uuid; leave it out")
	case f.Layout != "" && f.Layout != plan.LayoutBinary:
		return usage.Errorf("--layout %s: say binary, or leave it out", f.Layout)
	case f.Gap < 0:
		return usage.Errorf("--gap %d: give a number of at least 1", f.Gap)
	}
	f.Flags = f.database.Flags()
	db, d, err := f.database.Open(cmd.Context())
	if err != nil {
		return err
	}
	defer db.Close()
	summary, steps, err := plan.Make(cmd.Context(), db, d, kind, &f.Options)
	if err != nil {
		return err
	}
	if f.Folder != "" {
		if err := plan.Write(d, &f.Options, steps); err != nil {
			return err
		}
		summary += fmt.Sprintf("\nThe engine's client runs the files: %s.\n", plan.Client(d))
	}
	out := bufio.NewWriter(cmd.OutOrStdout())
	if f.asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetEscapeHTML(false)
		for _, s := range steps {
			if err := encoder.Encode(s); err != nil {
				return err
			}
		}
		return out.Flush()
	}
	fmt.Fprint(out, summary)
	product, err := database.Product(cmd.Context(), db, d)
	if err != nil {
		return err
	}
	if text := database.Remark(product, kindOfPlan[kind], false); text != "" {
		fmt.Fprintf(out, "%s\n", text)
	}
	for i, s := range steps {
		s.Print(out, i+1)
	}
	return out.Flush()
}

// kindOfPlan is the kind of source that a plan brings into the table, by the plan.
var kindOfPlan = map[string]string{"there": "sequence", "change": "sequence", "uuid": "uuidv7"}

// onePlan checks that the arguments name one plan.
func onePlan(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return errors.New("name one plan: there, handback, change, bigint or uuid")
	}
	return nil
}
