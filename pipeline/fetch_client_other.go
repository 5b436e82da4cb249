//go:build !unix

package pipeline

import "os/exec"

// stopTree leaves cancelling at stopping the program itself.
func stopTree(cmd *exec.Cmd) {}
