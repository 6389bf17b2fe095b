package group

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Group is a program and its descendants: a console process group for the request to end, a job object for Kill. A
// child that the program starts before it is put into the job is not in the job.
type Group struct {
	process *os.Process
	job     windows.Handle // 0: could not be made
}

// Lead makes a program the leader of a new group, so that the terminal's interrupt does not reach it; a detached
// program gets a console of its own, which is not shown. It is called before the start.
func Lead(cmd *exec.Cmd, detached bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if detached {
		cmd.SysProcAttr.CreationFlags |= windows.CREATE_NO_WINDOW
	}
}

// Of returns the group that a started program leads.
func Of(p *os.Process) *Group { return assign(p, 0) }

// Bound returns the group that a started program leads, and ends the group when this process ends.
func Bound(p *os.Process) *Group { return assign(p, windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE) }

func assign(p *os.Process, limits uint32) *Group {
	g := &Group{process: p}
	job, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return g
	}
	info := windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION{
		BasicLimitInformation: windows.JOBOBJECT_BASIC_LIMIT_INFORMATION{LimitFlags: limits}}
	_, err = windows.SetInformationJobObject(job, windows.JobObjectExtendedLimitInformation,
		uintptr(unsafe.Pointer(&info)), uint32(unsafe.Sizeof(info)))
	var h windows.Handle
	if err == nil {
		h, err = windows.OpenProcess(windows.PROCESS_SET_QUOTA|windows.PROCESS_TERMINATE, false, uint32(p.Pid))
	}
	if err == nil {
		err = windows.AssignProcessToJobObject(job, h)
		windows.CloseHandle(h)
	}
	if err != nil {
		windows.CloseHandle(job)
		return g
	}
	g.job = job
	return g
}

// Terminate asks the programs of the console group to end.
func (g *Group) Terminate() {
	windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.process.Pid))
}

// Kill ends all programs of the group at once; without a job object, the program alone.
func (g *Group) Kill() {
	if g.job != 0 {
		windows.TerminateJobObject(g.job, 1)
	}
	g.process.Kill()
}

// jobAccounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION.
type jobAccounting struct {
	TotalUserTime, TotalKernelTime                       int64
	ThisPeriodTotalUserTime, ThisPeriodTotalKernelTime   int64
	TotalPageFaultCount, TotalProcesses, ActiveProcesses uint32
	TotalTerminatedProcesses                             uint32
}

// Gone reports whether the job has no process left.
func (g *Group) Gone() bool {
	if g.job == 0 {
		return true
	}
	const basicAccounting = 1
	var info jobAccounting
	err := windows.QueryInformationJobObject(g.job, basicAccounting, uintptr(unsafe.Pointer(&info)),
		uint32(unsafe.Sizeof(info)), nil)
	return err != nil || info.ActiveProcesses == 0
}

// Close releases the job object. The processes of a group live on, because they may be daemons; those of a bound group
// end.
func (g *Group) Close() {
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
}
