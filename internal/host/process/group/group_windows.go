package group

import (
	"os"
	"os/exec"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// Group is a program and its descendants: a console process group for asking them to end, and a job object for killing
// them. A child process that the program starts before it is assigned to the job is not in the job.
type Group struct {
	process *os.Process
	job     windows.Handle // 0 if it could not be created
}

// Lead makes a program the leader of a new group, so that it does not get the interrupt of the terminal. A detached
// program has its own console, which is hidden. Lead is called before the start.
func Lead(cmd *exec.Cmd, detached bool) {
	cmd.SysProcAttr = &syscall.SysProcAttr{CreationFlags: windows.CREATE_NEW_PROCESS_GROUP}
	if detached {
		cmd.SysProcAttr.CreationFlags |= windows.CREATE_NO_WINDOW
	}
}

// Of returns the group that a started program leads.
func Of(p *os.Process) *Group { return assign(p, 0) }

// Bound returns the group that a started program leads. The group is killed when this process ends.
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

// Terminate asks the processes of the console group to end.
func (g *Group) Terminate() {
	windows.GenerateConsoleCtrlEvent(windows.CTRL_BREAK_EVENT, uint32(g.process.Pid))
}

// Kill kills all processes of the group, or only the program if there is no job object.
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

// Close closes the job object. The processes of the group keep running, because they may be daemons; those of a group
// from Bound are killed.
func (g *Group) Close() {
	if g.job != 0 {
		windows.CloseHandle(g.job)
		g.job = 0
	}
}
