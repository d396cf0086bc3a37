package storetest

import (
	"os/exec"
	"syscall"
)

// endWithParent makes the process of c end when this process ends, for whatever reason.
// Otherwise a process that a test has stopped by SIGSTOP would stay for ever.
func endWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
