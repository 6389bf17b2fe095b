package web

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// StatusError is a response with an error status.
type StatusError struct {
	Code int
	// Says is the server's message, or "" if there is none worth showing.
	Says       string
	retryAfter string
}

func (e *StatusError) Error() string {
	text := http.StatusText(e.Code)
	if e.Says != "" {
		text += ": " + e.Says
	}
	switch e.Code {
	case http.StatusUnauthorized, http.StatusForbidden:
		return fmt.Sprintf("the server answered: %d %s; a token for the host may be missing or no longer valid", e.Code,
			text)
	}
	return fmt.Sprintf("the server answered: %d %s", e.Code, text)
}

// IsNotFound reports whether a server does not have the requested document.
func IsNotFound(err error) bool {
	var status *StatusError
	return errors.As(err, &status) && (status.Code == http.StatusNotFound || status.Code == http.StatusGone)
}

// refusedError means that we refuse to continue: a retry would not help.
type refusedError struct{ text string }

func (e *refusedError) Error() string { return e.text }

type tooLargeError struct{ limit int64 }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("the answer has more than %d bytes, which is too large to be read", e.limit)
}

// localError is an error on this machine.
type localError struct{ error }

func (e *localError) Unwrap() error { return e.error }

// limited returns a reader that fails after a number of bytes.
func limited(r io.Reader, limit int64) io.Reader { return &limitedReader{r, limit, limit} }

type limitedReader struct {
	r           io.Reader
	left, limit int64
}

func (l *limitedReader) Read(p []byte) (int, error) {
	if int64(len(p)) > l.left+1 {
		p = p[:l.left+1]
	}
	n, err := l.r.Read(p)
	if l.left -= int64(n); l.left < 0 {
		return n - 1, &tooLargeError{l.limit}
	}
	return n, err
}

// because returns the context's cause instead of the context's error.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil &&
		(errors.Is(err, ctx.Err()) || errors.Is(err, context.DeadlineExceeded)) {
		return cause
	}
	return err
}

const (
	firstPause = 500 * time.Millisecond
	// longestPause also limits the pause that a server requests.
	longestPause = 10 * time.Second
)

// repeat calls try until it succeeds, fails permanently, or all attempts are used.
func (c *Client) repeat(ctx context.Context, retries int, u *url.URL, try func() error) error {
	for attempt := 0; ; attempt++ {
		err := try()
		if err == nil {
			return nil
		}
		if cause := ctx.Err(); cause != nil {
			return cause
		}
		if attempt == retries || !mayPass(err) {
			if attempt > 0 {
				return fmt.Errorf("%s: %w (after %d attempts)", bare(u), err, attempt+1)
			}
			return fmt.Errorf("%s: %w", bare(u), err)
		}
		if err := c.Pause(ctx, backOff(attempt, err)); err != nil {
			return err
		}
	}
}

// mayPass reports whether an error may be temporary.
func mayPass(err error) bool {
	var status *StatusError
	if errors.As(err, &status) {
		return status.Code == http.StatusTooManyRequests || status.Code >= 500 &&
			status.Code != http.StatusNotImplemented
	}
	var refused *refusedError
	var large *tooLargeError
	var local *localError
	var certificate *tls.CertificateVerificationError
	var final *finalError
	return !errors.As(err, &final) && !errors.As(err, &refused) && !errors.As(err, &large) && !errors.As(err, &local) &&
		!errors.As(err, &certificate)
}

func backOff(attempt int, err error) time.Duration {
	wait := firstPause << min(attempt, 10)
	var status *StatusError
	if errors.As(err, &status) {
		if seconds, err := strconv.Atoi(status.retryAfter); err == nil && seconds > 0 {
			wait = time.Duration(min(seconds, 3600)) * time.Second
		}
	}
	// A random part prevents clients that failed together from retrying together.
	return min(wait, longestPause) + rand.N(firstPause/2)
}

// pace ends a download without progress: in each period it must receive paceBytes.
type pace struct {
	timer  *time.Timer
	period time.Duration
	since  int64 // bytes since the period began
}

const paceBytes = 16 << 10

func newPace(period time.Duration, cancel context.CancelCauseFunc) *pace {
	p := &pace{period: period}
	p.timer = time.AfterFunc(period, func() {
		cancel(fmt.Errorf("the download is too slow: less than %d KiB in %s", paceBytes>>10, period))
	})
	return p
}

func (p *pace) received(n int) {
	if p.since += int64(n); p.since >= paceBytes {
		p.since = 0
		p.timer.Reset(p.period)
	}
}

func (p *pace) stop() { p.timer.Stop() }

// counted counts the bytes that are read.
type counted struct {
	r           io.Reader
	watch       *pace
	done, total int64
	progress    func(done, total int64)
	failed      error
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done += int64(n)
	c.watch.received(n)
	if c.progress != nil && n > 0 {
		c.progress(c.done, c.total)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		c.failed = err
	}
	return n, err
}
