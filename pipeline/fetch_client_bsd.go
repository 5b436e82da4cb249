//go:build unix && !linux

package pipeline

import "syscall"

// stopWithParent does nothing: only Linux can do it.
func stopWithParent(*syscall.SysProcAttr) {}
