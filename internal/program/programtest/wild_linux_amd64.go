package programtest

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// wildClock is the variable that WildClock sets; wildBegun marks the process that becomes the program.
const wildClock, wildBegun = "PROGRAMTEST_WILD_CLOCK", "PROGRAMTEST_WILD_BEGUN"

// WildClock returns the environment in which a test binary that calls UnderWildClock runs with a clock that is set
// continually. The seed determines how.
func WildClock(seed uint64) ([]string, error) {
	return []string{fmt.Sprint(wildClock, "=", seed)}, nil
}

// UnderWildClock runs this program again if the environment is that of WildClock, and does not return in that case. All
// times of day that the second process and its descendants read are wild: they jump forwards and backwards, by seconds
// and by decades. Durations between two moments are not affected. When this process ends, all of them are killed.
//
// Programs normally read the clock without a system call, so UnderWildClock hides the code for that from each program,
// and answers the system calls that the program then makes.
func UnderWildClock() {
	if os.Getenv(wildBegun) != "" {
		os.Unsetenv(wildBegun)
		becomeWild()
	}
	seed, err := strconv.ParseUint(os.Getenv(wildClock), 10, 64)
	if err != nil {
		return
	}
	os.Unsetenv(wildClock)
	os.Setenv(wildBegun, "1")
	runtime.LockOSThread() // only this thread may control the others
	w := wild{random: rand.New(rand.NewPCG(seed, 5)), new: map[int]bool{}}
	os.Exit(w.run())
}

// becomeWild makes the system stop this process and its descendants when they request the time of day, and executes the
// program.
func becomeWild() {
	runtime.LockOSThread()
	exe, err := os.Executable()
	check(err)
	check(unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	const number, argument = 0, 16 // offsets in the data of the filter
	filter := []unix.SockFilter{
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: number},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.SYS_CLOCK_GETTIME, Jf: 3},
		{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: argument},
		{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, K: unix.CLOCK_REALTIME, Jf: 1},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_TRACE},
		{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	check(unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0))
	check(syscall.Exec(exe, os.Args, os.Environ()))
}

// wild controls processes whose clock is wild.
type wild struct {
	random *rand.Rand
	set    time.Duration // difference from the real clock
	new    map[int]bool  // processes that have not begun
}

// leaps are the changes of the clock.
var leaps = []time.Duration{0, time.Second, -time.Second, time.Minute, -time.Minute, 3 * time.Hour, -3 * time.Hour,
	48 * time.Hour, -48 * time.Hour, 400 * 24 * time.Hour, -400 * 24 * time.Hour, 30 * 365 * 24 * time.Hour,
	-30 * 365 * 24 * time.Hour, 90 * 365 * 24 * time.Hour}

// now returns the time that the clock shows.
func (w *wild) now() time.Time {
	if w.random.IntN(8) == 0 {
		w.set = leaps[w.random.IntN(len(leaps))]
	}
	return time.Now().Add(w.set)
}

const wildOptions = unix.PTRACE_O_EXITKILL | unix.PTRACE_O_TRACESECCOMP | unix.PTRACE_O_TRACECLONE |
	unix.PTRACE_O_TRACEFORK | unix.PTRACE_O_TRACEVFORK | unix.PTRACE_O_TRACEEXEC

// run starts the program, controls it to its end, and returns its exit status.
func (w *wild) run() int {
	exe, err := os.Executable()
	check(err)
	first, err := syscall.ForkExec(exe, os.Args, &syscall.ProcAttr{Env: os.Environ(), Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Ptrace: true}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "this system lets nobody control a process:", err)
		return WildImpossible
	}
	var status unix.WaitStatus
	_, err = unix.Wait4(first, &status, 0, nil)
	check(err)
	check(unix.PtraceSetOptions(first, wildOptions))
	check(unix.PtraceCont(first, 0))
	for {
		pid, err := unix.Wait4(-1, &status, unix.WALL, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			fmt.Fprintln(os.Stderr, "control:", err)
			return WildImpossible
		case pid == first && status.Exited():
			return status.ExitStatus()
		case pid == first && status.Signaled():
			return 128 + int(status.Signal())
		case status.Stopped():
			signal := w.stopped(pid, status)
			_ = unix.PtraceCont(pid, signal) // it may have been killed
		}
	}
}

// WildImpossible is the exit status of a process if clocks cannot be changed on this system.
const WildImpossible = 77

// stopped handles a stopped process, and returns the signal to deliver to it.
func (w *wild) stopped(pid int, status unix.WaitStatus) int {
	switch cause := int(status) >> 16; {
	case cause == unix.PTRACE_EVENT_EXEC:
		w.hideClock(pid)
		return 0
	case cause == unix.PTRACE_EVENT_SECCOMP:
		w.answer(pid)
		return 0
	case cause != 0:
		return 0
	case status.StopSignal() == unix.SIGSTOP && !w.new[pid]:
		w.new[pid] = true // the stop with which each process begins
		return 0
	case status.StopSignal() == unix.SIGTRAP:
		return 0
	}
	return int(status.StopSignal())
}

// answer returns the time in place of the system.
func (w *wild) answer(pid int) {
	var regs unix.PtraceRegs
	if unix.PtraceGetRegs(pid, &regs) != nil {
		return
	}
	at, now := make([]byte, 16), w.now()
	binary.LittleEndian.PutUint64(at, uint64(now.Unix()))
	binary.LittleEndian.PutUint64(at[8:], uint64(now.Nanosecond()))
	if _, err := unix.PtracePokeData(pid, uintptr(regs.Rsi), at); err != nil {
		return
	}
	regs.Orig_rax, regs.Rax = ^uint64(0), 0 // no system call, and success
	_ = unix.PtraceSetRegs(pid, &regs)
}

// hideClock removes the code that reads the clock without a system call from a program that begins: it removes the
// code's entry from the list above the environment on the stack.
func (w *wild) hideClock(pid int) {
	var regs unix.PtraceRegs
	if unix.PtraceGetRegs(pid, &regs) != nil {
		return
	}
	auxv, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/auxv")
	if err != nil {
		return
	}
	stack := make([]byte, stackTop(pid, uintptr(regs.Rsp))-uintptr(regs.Rsp))
	n, _ := unix.PtracePeekData(pid, uintptr(regs.Rsp), stack)
	begin := strings.Index(string(stack[:n]), string(auxv[:32]))
	const clock, ignored = 33, 1 // AT_SYSINFO_EHDR, AT_IGNORE
	for i := 0; begin >= 0 && i+16 <= len(auxv); i += 16 {
		if binary.LittleEndian.Uint64(auxv[i:]) == clock {
			_, _ = unix.PtracePokeData(pid, uintptr(regs.Rsp)+uintptr(begin+i), []byte{ignored, 0, 0, 0, 0, 0, 0, 0})
		}
	}
}

// stackTop returns the end of the stack.
func stackTop(pid int, sp uintptr) uintptr {
	text, _ := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/maps")
	for line := range strings.Lines(string(text)) {
		var from, to uintptr
		if n, _ := fmt.Sscanf(line, "%x-%x", &from, &to); n == 2 && from <= sp && sp < to {
			return to
		}
	}
	return sp
}
