package policy_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"testing/fstest"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/policy"
)

const file = `
version: 1
tables:
  orders: {column: id, source: sequence}
`

func ExampleLoad() {
	folder, err := os.MkdirTemp("", "policy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "keyfill.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := policy.Load(path)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Tables["orders"].Source)
	// Output: sequence
}

// A program that embeds its policy passes an embed.FS.
func ExampleLoadFS() {
	files := fstest.MapFS{"keyfill.yaml": {Data: []byte(file)}}
	cfg, err := policy.LoadFS(files, "keyfill.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Tables["orders"].Column)
	// Output: id
}

// The blank imports under auto read the policy like this.
func ExampleFromEnvironment() {
	folder, err := os.MkdirTemp("", "policy")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(folder)
	path := filepath.Join(folder, "shop.yaml")
	if err := os.WriteFile(path, []byte(file), 0o600); err != nil {
		fmt.Println(err)
		return
	}
	defer os.Unsetenv("KEYFILL_CONFIG")
	if err := os.Setenv("KEYFILL_CONFIG", path); err != nil {
		fmt.Println(err)
		return
	}
	cfg, err := policy.FromEnvironment()
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(cfg.Tables["orders"].Column)
	// Output: id
}

func ExampleSchema() {
	var schema struct {
		Required []string
	}
	if err := json.Unmarshal(policy.Schema(), &schema); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("required:", schema.Required)
	// Output: required: [version tables]
}

func ExampleGuarantees() {
	invoices := policy.Source{Kind: "sequence", Transaction: policy.TransactionJoined}
	g, ok := policy.Guarantees(invoices, dialect.PostgreSQL())
	fmt.Println(ok, "unique:", g.Unique, "ordered:", g.Ordered, "gap-free:", g.GapFree)
	// Output: true unique: yes ordered: yes gap-free: true
}

func ExampleGuaranteesOnGalera() {
	_, ok := policy.GuaranteesOnGalera(policy.Source{Kind: "native", Block: 50})
	fmt.Println(ok)
	// Output: false
}

func ExampleMethods() {
	for _, s := range policy.Methods()[1:4] {
		fmt.Println(s.Kind)
	}
	// Output:
	// uuidv7
	// uuidv4
	// uuidv5
}

func ExampleParseMode() {
	mode, err := policy.ParseMode("dry_run")
	fmt.Println(mode, err)
	_, err = policy.ParseMode("dry")
	fmt.Println(err)
	// Output:
	// dry_run <nil>
	// policy: unknown mode "dry"; there are fill, dry_run and off [docs/errors.md#policy]
}

func ExampleMoreCautious() {
	fmt.Println(policy.MoreCautious(policy.ModeFill, policy.ModeDryRun))
	// Output: dry_run
}
