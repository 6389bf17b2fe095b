package programtest

import (
	"os/exec"
	"syscall"
)

// Tie makes the system kill the command, which has not been started yet, when this process ends: a test that is killed
// cannot end its commands.
func Tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
