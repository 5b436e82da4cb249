package pipeline

import "syscall"

// stopWithParent makes the kernel kill the program when this process is killed. A program in a group of
// its own would otherwise go on. The signal is tied to the thread that starts the program: see run.
func stopWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGKILL }
