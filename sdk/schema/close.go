package schema

import "io"

// Close ends the provider, and with it what ConfigureFunc returned, when that has a Close method: connections, in general.
func (s *server) Close() error {
	s.stop(errStopping)
	if c, ok := s.meta().(io.Closer); ok {
		return c.Close()
	}
	return nil
}
