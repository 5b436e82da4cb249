//go:build unix

package pipeline

import (
	"os/exec"
	"syscall"
)

// stopTree makes cancelling stop the program and all it started: mvn, pip and cargo start others.
func stopTree(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stopWithParent(cmd.SysProcAttr)
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
