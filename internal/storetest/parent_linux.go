package storetest

import (
	"os/exec"
	"syscall"
)

// endWithParent makes a process end when this one does, however that ends: a process that a
// test has stopped would stay for ever.
func endWithParent(c *exec.Cmd) { c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
