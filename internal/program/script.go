package program

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/regular"
)

// Advice returns why the operating system cannot execute an existing file, as far as the file shows it, or "". The
// system itself reports "no such file" for a script whose interpreter is missing, which is misleading.
func (e *StartError) Advice() string {
	if advice := diag.SystemAdvice(e.Err); advice != "" {
		return advice
	}
	switch {
	case errors.Is(e.Err, syscall.ENOEXEC):
		return "It is neither a program for this system nor a script with a first line that names its interpreter, " +
			"such as #!/usr/bin/env bash."
	case !errors.Is(e.Err, fs.ErrNotExist) || e.File == "":
		return ""
	}
	if _, err := os.Stat(e.File); err != nil {
		return ""
	}
	name, carriageReturn := interpreter(e.File)
	switch {
	case carriageReturn:
		return "Its first line ends with CR LF, as on Windows, so the name of the interpreter ends with a carriage " +
			"return. Save the file with LF."
	case name != "":
		return fmt.Sprintf("The file exists, but the interpreter in its first line does not: %q.", name)
	}
	return "The file exists, but something that it needs does not: it may be built for another system."
}

// fileOf returns the file that executing path in dir refers to, relative to the current directory.
func fileOf(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// interpreter returns the program that runs a script, and whether its name ends in a carriage return. The name is ""
// for other files.
func interpreter(file string) (name string, carriageReturn bool) {
	f, err := regular.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	line, _ := bufio.NewReader(io.LimitReader(f, 1024)).ReadBytes('\n')
	line, ok := bytes.CutPrefix(line, []byte("#!"))
	words := strings.Fields(string(line))
	if !ok || len(words) == 0 {
		return "", false
	}
	return words[0], len(words) == 1 && bytes.HasSuffix(line, []byte("\r\n"))
}
