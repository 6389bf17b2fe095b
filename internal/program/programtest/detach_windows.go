package programtest

import (
	"os/exec"
	"syscall"
)

const detachedProcess = 0x00000008

func leaveGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: detachedProcess}
}
