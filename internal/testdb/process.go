package testdb

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server, or the program that fills its data folder. It never
// outlives this process, however this one ends: by os.Exit, a panic in any
// goroutine, a signal, kill -9.
//
// A deferred function or a signal handler would not do: most of these ends run neither.
// Linux's PDEATHSIG would not do either: it is sent when the thread ends that started the
// child, and Go does not keep that thread alive. A pipe does, which the kernel closes in
// every case. Its other end is read by a watcher, a shell without child or parent, in a
// session of its own so that the terminal's Ctrl-C does not reach it.
//
//	we ──pipe──▶ watcher           at the pipe's end: ends the server,
//	 └─────────▶ sh, then server   removes the folder
type process struct {
	cmd   *exec.Cmd
	pipe  *os.File      // the writing end of the pipe to the watcher
	ended chan struct{} // closed when the process is gone
}

// guarded is a shell script that runs a command, beside a watcher that reads the pipe at
// descriptor 3. $1 is the folder to remove, $2 the signal that ends the command, the rest
// is the command. Signal 0 means that the watcher lets the command finish, since an
// interrupted initdb does not free its shared memory.
//
// The watcher reads "gone" when the command has ended (its process id may then be
// another's) and "keep" when it has nothing left to do.
//
// The double fork keeps the watcher from being the server's child: postgres does not expect
// children that it has not started.
const guarded = `
folder=$1 signal=$2
shift 2
( {
	cd /
	gone=
	while read -r word <&3; do
		case $word in
		gone) gone=yes ;;
		keep) exit ;;
		esac
	done
	if [ -z "$gone" ]; then
		kill "-$signal" "$$"
		tries=0
		while kill -0 "$$" 2>/dev/null && [ "$tries" -lt 300 ]; do
			sleep 0.1
			tries=$((tries + 1))
		done
		kill -9 "$$" 2>/dev/null
	fi
	tries=0
	until rm -rf -- "$folder" 2>/dev/null || [ "$tries" -ge 10 ]; do
		sleep 1
		tries=$((tries + 1))
	done
} & )
exec "$@" 3<&-
`

// keeps is the script of a watcher without a command, for a folder that no process uses
// yet: $1. It ignores the signals that end the programs of a terminal. Its working
// directory is / instead of the folder, so that the folder can be removed.
const keeps = `
trap '' HUP INT QUIT TERM
cd /
while read -r word <&3; do
	case $word in
	keep) exit ;;
	esac
done
rm -rf -- "$1"
`

// startKeeper starts a process that removes a folder when this process has ended.
func startKeeper(folder string) (*process, error) {
	watched, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer watched.Close()
	cmd := exec.Command("/bin/sh", "-c", keeps, "sh", folder)
	cmd.Dir, cmd.Env = "/", []string{"PATH=" + os.Getenv("PATH")}
	cmd.ExtraFiles = []*os.File{watched}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	p := &process{cmd: cmd, pipe: pipe, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// startProcess starts a command whose output goes to the folder's log. The
// signal is the signal by which the watcher ends it.
func startProcess(command []string, signal syscall.Signal, folder string, owner *syscall.Credential) (*process, error) {
	watched, pipe, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer watched.Close()
	log, err := os.Create(logPath(folder))
	if err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	defer log.Close()

	cmd := exec.Command("/bin/sh", append([]string{"-c", guarded, "sh", folder, strconv.Itoa(int(signal))}, command...)...)
	cmd.Dir = folder // run in folder, since the owner may not be able to enter this process's working directory
	// The environment of this process is not passed on: the server would obey PGPORT and
	// the like.
	cmd.Env = []string{
		"PATH=" + strings.Join(append(folders(), folder), string(filepath.ListSeparator)),
		"HOME=" + folder, "TMPDIR=" + folder, "LC_ALL=C.UTF-8", "TZ=UTC",
	}
	// The output goes to a file: "go test" waits for all processes that hold its own
	// output.
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{watched}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: owner}
	if err := cmd.Start(); err != nil {
		return nil, errors.Join(err, pipe.Close())
	}
	p := &process{cmd: cmd, pipe: pipe, ended: make(chan struct{})}
	go func() {
		_ = cmd.Wait() // the result is read from cmd.ProcessState instead
		p.tell("gone")
		close(p.ended)
	}()
	return p, nil
}

func logPath(folder string) string { return filepath.Join(folder, "server.log") }

func (p *process) pid() int { return p.cmd.Process.Pid }

func (p *process) signal(s syscall.Signal) error { return p.cmd.Process.Signal(s) }

// wait waits for at most d, and reports whether the process has ended.
func (p *process) wait(d time.Duration) bool {
	select {
	case <-p.ended:
		return true
	default:
	}
	select {
	case <-p.ended:
		return true
	case <-time.After(d):
		return false
	}
}

// succeeded reports whether a process that has ended did so with success.
func (p *process) succeeded() bool { return p.cmd.ProcessState.Success() }

// release ends the watcher. The watched process must have ended before.
func (p *process) release() {
	p.tell("keep")
	p.abandon()
}

// abandon leaves the process and its folder to the watcher.
func (p *process) abandon() { _ = p.pipe.Close() } // a second Close only returns an error

// tell sends the watcher a word. It ignores an error: without the watcher the word is not
// needed.
func (p *process) tell(word string) { _, _ = p.pipe.WriteString(word + "\n") }

// childrenOf returns the ids of the processes that pid has started, as the system shows
// them in /proc; none if the system has no /proc.
func childrenOf(pid int) []int {
	var children []int
	paths, _ := filepath.Glob("/proc/[0-9]*") // Glob fails only for a malformed pattern
	for _, path := range paths {
		child, err := strconv.Atoi(filepath.Base(path))
		if err != nil {
			continue
		}
		if _, parent := processState(child); parent == pid {
			children = append(children, child)
		}
	}
	return children
}

// anyAlive reports whether one of the processes still runs. A process that has ended, but
// whose parent has not waited for it (a zombie), does not count.
func anyAlive(pids []int) bool {
	return slices.ContainsFunc(pids, func(pid int) bool {
		state, _ := processState(pid)
		return state != "" && state != "Z"
	})
}

// processState returns a process's state, a letter, and its parent: "" and 0
// for one that does not exist. See proc_pid_stat(5).
func processState(pid int) (state string, parent int) {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return "", 0
	}
	// The text has the form 123 (name) S 99 …, where the name may hold any character.
	fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
	if len(fields) < 2 {
		return "", 0
	}
	parent, _ = strconv.Atoi(fields[1]) // this never fails, since the kernel writes a number
	return fields[0], parent
}
