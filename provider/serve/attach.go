package serve

import "context"

// Attach serves a provider from within a running program, such as a test, and returns the value of ReattachEnv with
// which hosts find it. The provider shares the memory of the program, so that a test can use a fake service and inspect
// it. It is served until detach is called or the context ends. detach waits for calls under way, up to Options.Grace.
//
// Unlike Run, Attach does not change standard output, standard error or signals.
func Attach(ctx context.Context, o Options) (value string, detach func() error, err error) {
	if o.Address == "" {
		return "", nil, errNoAddress
	}
	p, err := newPlugin(o)
	if err != nil {
		return "", nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	value, done, err := p.listen(ctx)
	if err != nil {
		cancel()
		return "", nil, err
	}
	return value, func() error {
		cancel()
		<-done
		return p.close()
	}, nil
}
