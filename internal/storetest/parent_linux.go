package storetest

import (
	"os/exec"
	"syscall"
)

// endWithParent lets a process be killed when this one ends, however it ends: a process
// that a test has stopped would stay for ever.
func endWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
