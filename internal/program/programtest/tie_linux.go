package programtest

import (
	"os/exec"
	"syscall"
)

// Tie has the system kill the command, which has not been started yet, when this process is gone: a test that is killed
// ends nothing itself.
func Tie(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}
