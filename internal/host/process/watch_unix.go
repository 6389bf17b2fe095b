//go:build unix

package process

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
)

// Watch ends process groups, and removes files, when this process dies in any way. All watches of a process share one
// guard, a shell that reads from a pipe whose other end only this process has. The guard ends with the last watch.
//
// A Watch has no effect if the guard cannot be started, for example because the process limit is reached; the work
// itself continues. It also has no effect on a program if this process is killed between the start of the program and
// Group.
type Watch struct {
	lines []string // lines sent to the guard
}

// guarding is the only guard. The goroutine that waits for the shell ends with it.
var guarding struct {
	sync.Mutex
	watches map[*Watch]bool
	pipe    *os.File // nil if there is no guard
}

// watching is the guard's script. Each line of its input adds or removes a group or a file.
const watching = `trap '' TERM HUP INT QUIT PIPE
groups=' '
while IFS= read -r line; do
	what=${line#??}
	case $line in
	'+g'*) groups="$groups$what " ;;
	'-g'*) case $groups in *" $what "*) groups="${groups%%" $what "*} ${groups#*" $what "}" ;; esac ;;
	'+f'*) set -- "$@" "$what" ;;
	'-f'*) for file; do shift; [ "$file" = "$what" ] || set -- "$@" "$file"; done ;;
	esac
done
[ $# = 0 ] || rm -f -- "$@"
[ "$groups" = ' ' ] && exit
for g in $groups; do kill -s TERM -- "-$g"; kill -s CONT -- "-$g"; done
sleep 2
for g in $groups; do kill -s KILL -- "-$g"; done
[ $# = 0 ] || rm -f -- "$@"
`

// NewWatch starts a watch, so that the guard exists before the guarded program.
func NewWatch() *Watch {
	w := &Watch{}
	guarding.Lock()
	defer guarding.Unlock()
	if guarding.watches == nil {
		guarding.watches = map[*Watch]bool{}
	}
	guarding.watches[w] = true
	if guarding.pipe == nil {
		startGuard()
	}
	return w
}

// Group adds the process group whose leader is pid.
func (w *Watch) Group(pid int) { w.tell("g" + strconv.Itoa(pid)) }

// File adds a file, which need not exist yet.
func (w *Watch) File(name string) {
	if !strings.ContainsAny(name, "\n\x00") {
		w.tell("f" + name)
	}
}

// End ends the watch: its groups and files are no longer guarded.
func (w *Watch) End() {
	guarding.Lock()
	defer guarding.Unlock()
	if !guarding.watches[w] {
		return
	}
	delete(guarding.watches, w)
	for _, line := range w.lines {
		write("-" + line)
	}
	if len(guarding.watches) == 0 && guarding.pipe != nil {
		guarding.pipe.Close()
		guarding.pipe = nil
	}
}

func (w *Watch) tell(line string) {
	guarding.Lock()
	defer guarding.Unlock()
	w.lines = append(w.lines, line)
	write("+" + line)
}

// write sends a line to the guard. It replaces a guard that was killed with one that has the same entries.
func write(line string) {
	if guarding.pipe == nil {
		return
	}
	if _, err := guarding.pipe.WriteString(line + "\n"); err != nil {
		guarding.pipe.Close()
		guarding.pipe = nil
		startGuard()
	}
}

func startGuard() {
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	cmd := exec.Command("/bin/sh", "-c", `eval "$GUARD"`, "tombolo-guard") // process lists show arguments
	cmd.Stdin, cmd.Env = r, []string{"GUARD=" + watching}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if cmd.Start() != nil {
		w.Close()
		return
	}
	go cmd.Wait() //nolint:errcheck // how a guard ends says nothing
	guarding.pipe = w
	var text strings.Builder
	for watch := range guarding.watches {
		for _, line := range watch.lines {
			text.WriteString("+" + line + "\n")
		}
	}
	_, _ = w.WriteString(text.String())
}
