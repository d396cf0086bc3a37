package apps_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/keyfill/keyfill/dialect"
	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
)

// runScript runs a script as it stands by the engine's own client, which stops at the
// first error. SQLite's driver runs it in Go.
func runScript(t *testing.T, s *harness.Scratch, script string) {
	t.Helper()
	var client *exec.Cmd
	switch s.Dialect.Family {
	case dialect.FamilySQLite:
		executeAll(t, s, script)
		return
	case dialect.FamilyMySQL:
		to, err := mysql.ParseDSN(s.Server.DSN(harness.DatabaseOf(t, s)))
		if err != nil {
			t.Fatal(err)
		}
		host, port, _ := strings.Cut(to.Addr, ":")
		client = exec.Command(clientProgram(t, "mariadb"), "--no-defaults", "--protocol=tcp", "--host="+host, "--port="+port, "--user="+to.User, to.DBName)
		client.Env = append(os.Environ(), "MYSQL_PWD="+to.Passwd)
	case dialect.FamilyPostgreSQL:
		client = exec.Command(clientProgram(t, "psql"), "--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1", "--dbname="+s.Server.DSN(harness.DatabaseOf(t, s)))
	}
	client.Stdin = strings.NewReader(script)
	if said, err := client.CombinedOutput(); err != nil {
		t.Fatalf("%s\n%s: %v\n%s", script, client.Path, err, said)
	}
}

// clientProgram returns the path of an engine's client, which comes with its server.
func clientProgram(t *testing.T, name string) string {
	t.Helper()
	folders := filepath.SplitList(os.Getenv("PATH"))
	more, _ := filepath.Glob("/usr/lib/postgresql/*/bin") // the pattern is good
	for _, folder := range append(folders, more...) {
		if path := filepath.Join(folder, name); exec.Command(path, "--version").Run() == nil {
			return path
		}
	}
	testdb.Skip(t, name, "it is not in $PATH or /usr/lib/postgresql/*/bin")
	return ""
}
