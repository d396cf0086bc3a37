package stores_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/keyfill/keyfill/e2e/internal/harness"
	"github.com/keyfill/keyfill/internal/testdb"
	"github.com/keyfill/keyfill/policy"
)

// fullDisk is what the log says of a database that has no room. An INSERT has the words of the
// engine too, which the log leaves out.
const fullDisk = "its disk is full"

// mariaFull is a store on a server of its own, whose one file for data may not grow.
func mariaFull(t *testing.T) policy.Store {
	server := testdb.Start(t, testdb.MariaDB().With("--innodb-data-file-path=ibdata1:12M:autoextend:max:24M", "--innodb-file-per-table=0"))
	at := mariaStore(server, "", "", "GRANT ALL ON $DB.* TO $USER")(t)
	raw := harness.Open(t, "mysql", server.DSN(""))
	harness.Must(t, raw, "CREATE DATABASE filler", "CREATE TABLE filler.filler (a LONGBLOB)")
	for n := 1 << 20; n > 0; {
		if _, err := raw.Exec(fmt.Sprintf("INSERT INTO filler.filler VALUES (REPEAT('x', %d))", n)); err != nil {
			n /= 4
		}
	}
	return at
}

// postgresFull is a store whose tables are in a tablespace of a few megabytes, which are used
// up. The folder is a disk of its own where the system lets the test mount one; elsewhere an
// event trigger answers with the error that PostgreSQL has for a full disk.
func postgresFull(t *testing.T) policy.Store {
	disk := t.TempDir()
	if said, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=4m,mode=755", "tmpfs", disk).CombinedOutput(); err != nil {
		t.Logf("no small disk: mount: %v: %s", err, said)
		return postgresStore(postgreSQL, "", "", "GRANT ALL ON SCHEMA public TO $USER",
			"CREATE FUNCTION full_disk() RETURNS event_trigger LANGUAGE plpgsql AS 'BEGIN RAISE disk_full USING MESSAGE = ''could not extend file: No space left on device''; END'",
			"CREATE EVENT TRIGGER full_disk ON ddl_command_start WHEN TAG IN ('CREATE TABLE') EXECUTE FUNCTION full_disk()")(t)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
	server := testdb.Start(t, testdb.PostgreSQL())
	raw := harness.Open(t, "pgx", server.DSN(""))
	var folder string
	if err := raw.QueryRow("SHOW data_directory").Scan(&folder); err != nil {
		t.Fatal(err)
	}
	owner, err := os.Stat(folder)
	if err != nil {
		t.Fatal(err)
	}
	space := filepath.Join(disk, "space")
	if err := os.Mkdir(space, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(space, int(owner.Sys().(*syscall.Stat_t).Uid), -1); err != nil {
		t.Fatal(err)
	}
	// The server is another user's, and t.TempDir is below a folder of this user's.
	if err := os.Chmod(filepath.Dir(disk), 0o755); err != nil {
		t.Fatal(err)
	}
	harness.Must(t, raw, "CREATE TABLESPACE small LOCATION '"+space+"'")
	at := postgresStore(server, "", "", "GRANT ALL ON SCHEMA public TO $USER", "ALTER DATABASE $DB SET default_tablespace = 'small'", "GRANT CREATE ON TABLESPACE small TO PUBLIC")(t)
	filler, err := os.Create(filepath.Join(disk, "filler"))
	if err != nil {
		t.Fatal(err)
	}
	defer filler.Close()
	for n := 1 << 20; n > 0; {
		if _, err := filler.WriteString(strings.Repeat("x", n)); err != nil {
			n /= 2
		}
	}
	return at
}
