package process

import (
	"runtime"
	"syscall"
)

// start starts a program that the system asks to end when this process dies, also where its guard was killed before.
// The system means the thread that started the program. So one thread waits with the program: another could end
// before this process does. What asks is SIGTERM, as the guard does: the program may finish what it is doing.
func (p *Process) start() error {
	p.cmd.SysProcAttr.Pdeathsig = syscall.SIGTERM
	started := make(chan error)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		if started <- err; err == nil {
			<-p.ended
		}
	}()
	return <-started
}
