package testdb

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// How long to wait for a server that hangs, on a machine that may be slow. If a server ends
// instead, the wait ends at once.
const (
	startTimeout = 5 * time.Minute
	stopTimeout  = 2 * time.Minute
)

// local is a server that this package runs: its files, and its present process.
type local struct {
	engine   *Engine
	programs programs
	owner    *syscall.Credential // the user that runs it; nil means the user of this process
	folder   string              // the folder of all files of the server; removed at the end
	keeper   *process            // the watcher that removes the folder if this process ends before process is started
	data     string              // inside folder
	port     string
	process  *process // the process that was started last; nil before the first start
	told     bool     // whether the process was asked to end, and was not started since
	killed   bool     // whether the process was ended by SIGKILL, and was not started since
}

// newLocal makes a server and starts it. After an error no files and no process of the
// server remain.
func newLocal(e *Engine) (_ *local, err error) {
	l, err := emptyLocal(e)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			l.discard()
		}
	}()
	if err := l.install(); err != nil {
		return nil, err
	}
	for range 10 {
		if l.port, err = freePort(); err != nil {
			return nil, err
		}
		// Another process may have taken the port since it was chosen, so try another port.
		if err = l.start(); !errors.Is(err, errPortTaken) {
			break
		}
	}
	return l, err
}

// emptyLocal makes a server without data and port.
func emptyLocal(e *Engine) (*local, error) {
	programs, err := e.files.find()
	if err != nil {
		return nil, err
	}
	l := &local{engine: e, programs: programs}
	if l.owner, err = unprivileged(); err != nil {
		return nil, err
	}
	if l.folder, l.keeper, err = newFolder(l.owner); err != nil {
		return nil, err
	}
	l.data = filepath.Join(l.folder, "data")
	for name, text := range e.files.scripts {
		if err := os.WriteFile(filepath.Join(l.folder, name), []byte(text), 0o755); err != nil {
			l.discard()
			return nil, err
		}
	}
	return l, nil
}

func (l *local) install() error {
	if l.engine.files.install == nil {
		return nil
	}
	if folder := os.Getenv(preparedVariable); folder != "" {
		return l.copyPrepared(folder)
	}
	return l.finish("filling the data folder", l.engine.files.install(l))
}

// finish runs a command and waits until it ends.
func (l *local) finish(what string, command []string) error {
	if err := l.run(command, 0); err != nil {
		return err
	}
	if !l.process.wait(startTimeout) {
		return l.failed(what + " took too long")
	}
	if !l.process.succeeded() {
		return l.failed(what + " failed")
	}
	return nil
}

var errPortTaken = errors.New("the port is taken")

// start starts the server on l.port and returns when it answers.
func (l *local) start() error {
	if l.isRunning() {
		return errors.New("it is running already")
	}
	if l.engine.files.configure != nil {
		if err := l.engine.files.configure(l); err != nil {
			return err
		}
	}
	if err := l.run(l.engine.serve(l), l.engine.abort); err != nil {
		return err
	}
	var answer error
	left := 0 // how often the shared memory of a killed server was still in use
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); {
		if l.process.wait(20 * time.Millisecond) {
			if n := strings.Count(l.logText(), "pre-existing shared memory block"); n > left {
				left = n
				time.Sleep(20 * time.Millisecond) // wait for the end of the killed server's processes, which still hold the shared memory
				if err := l.run(l.engine.serve(l), l.engine.abort); err != nil {
					return err
				}
				continue
			}
			if strings.Contains(l.logTail(), "Address already in use") || l.isTaken() {
				return fmt.Errorf("%w: %s", errPortTaken, l.port)
			}
			return l.failed("the server ended while starting")
		}
		if answer = l.answers(); answer == nil {
			l.told, l.killed = false, false
			if l.isTaken() {
				return errors.Join(fmt.Errorf("%w: %s", errPortTaken, l.port), l.kill())
			}
			return nil
		}
	}
	err := l.failed(fmt.Sprintf("the server did not answer for %v (%v)", startTimeout, answer))
	return errors.Join(err, l.kill())
}

// answers returns an error unless the server accepts connections: on its Unix socket,
// because on the port another server might answer. MariaDB and PostgreSQL open the port
// before the socket, and end if they cannot open it.
func (l *local) answers() error {
	if l.engine.socket == nil {
		return l.engine.answers("tcp", net.JoinHostPort("127.0.0.1", l.port), l.engine.admin)
	}
	return l.engine.answers("unix", l.engine.socket(l), l.engine.admin)
}

// isTaken reports whether the server's log says that another server has the port.
func (l *local) isTaken() bool {
	return l.engine.taken != "" && strings.Contains(l.logTail(), l.engine.taken)
}

// run starts a command as the server's process. The signal ends the command if this process
// ends.
func (l *local) run(command []string, signal syscall.Signal) error {
	p, err := startProcess(command, signal, l.folder, l.owner)
	if err != nil {
		return err
	}
	if l.process != nil {
		l.process.release()
	}
	l.process = p
	l.keeper.release()
	return nil
}

func (l *local) isRunning() bool { return l.process != nil && !l.process.wait(0) }

// crashed returns an error if the server has ended without a request.
func (l *local) crashed() error {
	if l.isRunning() || l.told {
		return nil
	}
	return l.failed("the server has ended by itself")
}

var errNotRunning = errors.New("it is not running")

// stop ends the server by the signal that lets it shut down properly.
func (l *local) stop(signal syscall.Signal) error {
	if !l.isRunning() {
		return errNotRunning
	}
	l.told = true
	if err := l.process.signal(signal); err != nil {
		return err
	}
	if l.process.wait(stopTimeout) {
		return nil
	}
	err := l.failed(fmt.Sprintf("the server did not stop for %v", stopTimeout))
	return errors.Join(err, l.kill())
}

// kill ends the server and the processes that it has started, as a power failure would. The
// child processes of PostgreSQL would notice the kill themselves, but only when they next
// wait for something.
func (l *local) kill() error {
	if !l.isRunning() {
		return errNotRunning
	}
	l.told = true
	// Stop the server first, so that it starts no other processes while its children are
	// looked up.
	if err := l.process.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	children := childrenOf(l.process.pid())
	if err := l.process.signal(syscall.SIGKILL); err != nil {
		return err
	}
	for _, pid := range children {
		// ESRCH means that the process has ended already.
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && err != syscall.ESRCH {
			return err
		}
	}
	for deadline := time.Now().Add(stopTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if l.process.wait(0) && !anyAlive(children) {
			l.killed = true
			l.cleared()
			return nil
		}
	}
	return l.failed("the server survived SIGKILL")
}

// cleared frees the resources that the server's process has not freed at its end.
func (l *local) cleared() {
	if l.engine.killed != nil && l.process != nil && !l.isRunning() {
		l.engine.killed(l.process.pid())
	}
}

// discard ends the server at once and removes its files.
func (l *local) discard() {
	// Errors are ignored, since the watcher process ends the server in any case.
	if l.killed && l.engine.sharesMemory {
		_ = l.start()
	}
	if l.isRunning() {
		_ = l.stop(l.engine.abort)
	}
	l.cleared()
	err := os.RemoveAll(l.folder)
	if l.process == nil {
		l.keeper.abandon() // the keeper removes what RemoveAll has not removed
		return
	}
	if err == nil && !l.isRunning() {
		l.process.release()
		return
	}
	l.process.abandon()
}

// failed returns an error that shows the end of the server's log.
func (l *local) failed(what string) error {
	return fmt.Errorf("%s; the end of its log:\n%s", what, l.logTail())
}

func (l *local) logText() string {
	text, err := os.ReadFile(logPath(l.folder))
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}

func (l *local) logTail() string {
	const lines = 100 // enough for a crash of MariaDB, which writes some 70 lines
	all := strings.Split(l.logText(), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// unprivileged returns the user to run a server as: nil, which is the user of this process,
// unless that is root. It returns "nobody" rather than the user of an installed service, so
// that the server can do that service no harm.
func unprivileged() (*syscall.Credential, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("nobody")
	if err != nil {
		return nil, fmt.Errorf("the servers refuse to be run by root: %w", err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// newFolder makes a folder for the owner, in a place that the owner can enter, and a
// process that removes it if this process ends. That process is started first: otherwise
// the folder would stay for ever if this process were killed in between.
func newFolder(owner *syscall.Credential) (string, *process, error) {
	parent := os.TempDir()
	if owner != nil && !everyoneMayWrite(parent) {
		parent = "/tmp"
	}
	// The name is short, since the path of a Unix socket in the folder may have only about
	// 100 bytes.
	folder := filepath.Join(parent, "keyfill-"+strconv.FormatUint(rand.Uint64(), 36))
	keeper, err := startKeeper(folder)
	if err != nil {
		return "", nil, err
	}
	if err := os.Mkdir(folder, 0o700); err != nil {
		keeper.release() // do not remove the folder, which may belong to another process
		return "", nil, err
	}
	if owner != nil {
		if err := os.Chown(folder, int(owner.Uid), int(owner.Gid)); err != nil {
			keeper.abandon()
			return "", nil, err
		}
	}
	return folder, keeper, nil
}

// everyoneMayWrite reports whether every user may reach the folder, make
// something in it and remove that again.
func everyoneMayWrite(folder string) bool {
	for needed := os.FileMode(0o003); ; needed = 0o001 {
		info, err := os.Stat(folder)
		if err != nil || info.Mode()&needed != needed {
			return false
		}
		parent := filepath.Dir(folder)
		if parent == folder {
			return true
		}
		folder = parent
	}
}

// freePort returns a port of 127.0.0.1 on which no process listens. It lies below the
// ports that systems give to outgoing connections (from 32768 on Linux), so that no
// client takes it while the server is down.
func freePort() (string, error) {
	var err error
	for range 100 {
		port := strconv.Itoa(16000 + rand.IntN(16000))
		var listener net.Listener
		if listener, err = net.Listen("tcp", "127.0.0.1:"+port); err == nil {
			return port, listener.Close()
		}
	}
	return "", fmt.Errorf("no free port: %w", err)
}
