package machines

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/pkg/sftp"
	"golang.org/x/crypto/ssh"
)

// files writes files on the machine. Names contain slashes.
type files interface {
	isDir(name string) bool
	mkdir(name string) error // creates parents; an existing directory is not an error
	// write writes the content of r to a file. It first removes an existing file, so that it never writes through a
	// link of another user.
	write(name string, mode fs.FileMode, r io.Reader) error
	remove(name string) error
	close()
}

func (m *Machine) openFiles() (_ files, err error) {
	if m.files == nil {
		m.files, err = m.link.openFiles()
	}
	return m.files, err
}

// openFiles uses the machine's SFTP server, or its shell if there is none.
func (m *sshLink) openFiles() (files, error) {
	client, err := sftp.NewClient(m.client)
	switch {
	case err == nil:
		return sftpFiles{client}, nil
	case m.windows:
		return nil, fmt.Errorf("the SSH server does not support SFTP, which is needed to copy files: %w", err)
	}
	return shellFiles{m}, nil
}

// ended returns err, or the reason why the context ended if it has: the error of a closed connection is not
// informative.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return errors.New("interrupted")
	}
	return err
}

// until closes the connection when the context ends, because nothing else ends a copy. Call the result at the end.
func (m *Machine) until(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, m.link.cut)
}

// Write creates a file on the machine. If the destination is a directory there, or ends in a slash, the file is created
// in it with the name base.
func (m *Machine) Write(ctx context.Context, destination, base string, mode fs.FileMode, r io.Reader) error {
	f, err := m.openFiles()
	if err != nil {
		return err
	}
	defer m.until(ctx)()
	folder := strings.HasSuffix(destination, "/") || m.conn.Windows && strings.HasSuffix(destination, `\`)
	if base != "" && (folder || f.isDir(destination)) {
		destination = path.Join(destination, base)
	}
	return ended(ctx, f.write(destination, mode, r))
}

// Copy copies a file or a directory to the machine. If the name of a directory ends in a slash, its content is copied;
// otherwise the directory is copied into the destination if that exists, and to the destination if not. Links are
// followed.
func (m *Machine) Copy(ctx context.Context, source, destination string) error {
	info, err := os.Stat(source)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return m.copyFile(ctx, source, info, destination, filepath.Base(source))
	}
	f, err := m.openFiles()
	if err != nil {
		return err
	}
	defer m.until(ctx)()
	if !strings.HasSuffix(source, "/") && !strings.HasSuffix(source, string(filepath.Separator)) &&
		f.isDir(destination) {
		destination = path.Join(destination, filepath.Base(source))
	}
	return ended(ctx, m.copyDir(ctx, f, source, destination, nil))
}

func (m *Machine) copyFile(ctx context.Context, source string, info fs.FileInfo, destination, base string) error {
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is a %s: only files and directories can be copied", source, kindOf(info.Mode()))
	}
	file, err := os.Open(source)
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // only read
	if err := m.Write(ctx, destination, base, 0o644|info.Mode().Perm()&0o111, file); err != nil {
		return fmt.Errorf("%s: %w", source, err)
	}
	return nil
}

// copyDir copies the content of a directory. above lists the real paths of its parents, to detect a link that leads
// back.
func (m *Machine) copyDir(ctx context.Context, f files, source, destination string, above []string) error {
	real, err := filepath.EvalSymlinks(source)
	if err != nil {
		return err
	}
	for _, dir := range above {
		if dir == real {
			return fmt.Errorf("%s is a link to a directory that contains it, so it never ends", source)
		}
	}
	entries, err := os.ReadDir(source)
	if err != nil {
		return err
	}
	if err := f.mkdir(destination); err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		from, to := filepath.Join(source, e.Name()), path.Join(destination, e.Name())
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		if info.IsDir() {
			err = m.copyDir(ctx, f, from, to, append(above, real))
		} else {
			err = m.copyFile(ctx, from, info, to, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeNamedPipe != 0:
		return "named pipe"
	case mode&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}

// sftpFiles writes by SFTP.
type sftpFiles struct{ *sftp.Client }

func (f sftpFiles) isDir(name string) bool {
	info, err := f.Stat(name)
	return err == nil && info.IsDir()
}

func (f sftpFiles) mkdir(name string) error {
	if err := f.MkdirAll(name); err != nil {
		return fmt.Errorf("creating the directory %s: %w", name, err)
	}
	return nil
}

func (f sftpFiles) write(name string, mode fs.FileMode, r io.Reader) error {
	_ = f.Client.Remove(name) // an existing file is replaced; if it cannot be removed, the create below fails
	file, err := f.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return fmt.Errorf("creating %s: %w", name, explained(err))
	}
	_, err = file.ReadFrom(r)
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = f.Chmod(name, mode)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// explained adds the probable cause to the protocol's general error when a file is created.
func explained(err error) error {
	var status *sftp.StatusError
	if errors.As(err, &status) && status.FxCode() == sftp.ErrSSHFxFailure {
		return fmt.Errorf("%w (is it a directory, or the disk full?)", err)
	}
	return err
}

func (f sftpFiles) remove(name string) error { return f.Client.Remove(name) }

func (f sftpFiles) close() { _ = f.Client.Close() } // the connection ends as well

// shellFiles writes by commands of a POSIX shell.
type shellFiles struct{ m *sshLink }

func (f shellFiles) run(command string, in io.Reader) error {
	session, err := f.m.client.NewSession()
	if err != nil {
		return err
	}
	defer session.Close() //nolint:errcheck // ended already
	message := &firstBytes{max: 4096}
	session.Stdin, session.Stderr = in, message
	err = session.Run(command)
	var exit *ssh.ExitError
	if errors.As(err, &exit) && len(message.text) > 0 {
		return errors.New(strings.TrimSpace(string(message.text)))
	}
	return err
}

func (f shellFiles) isDir(name string) bool { return f.run("test -d "+quoted(name), nil) == nil }

func (f shellFiles) mkdir(name string) error {
	if err := f.run("mkdir -p "+quoted(name), nil); err != nil {
		return fmt.Errorf("creating the directory %s: %w", name, err)
	}
	return nil
}

func (f shellFiles) write(name string, mode fs.FileMode, r io.Reader) error {
	q := quoted(name)
	err := f.run(fmt.Sprintf("rm -f %s; set -C; cat > %s && chmod %o %s", q, q, mode.Perm(), q), r)
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

func (f shellFiles) remove(name string) error { return f.run("rm -f "+quoted(name), nil) }

func (shellFiles) close() {}

// quoted returns a name as one word of a POSIX shell that is not an option.
func quoted(name string) string {
	if strings.HasPrefix(name, "-") {
		name = "./" + name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// firstBytes keeps the beginning of what is written to it.
type firstBytes struct {
	text []byte
	max  int
}

func (b *firstBytes) Write(p []byte) (int, error) {
	b.text = append(b.text, p[:min(len(p), b.max-len(b.text))]...)
	return len(p), nil
}
