//go:build !linux

package process

func (p *Process) start() error { return p.cmd.Start() }
