package machines

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"unicode/utf16"
)

// winRMFiles writes files with PowerShell scripts, because every Windows has PowerShell.
type winRMFiles struct{ link *winRMLink }

// maxCommand is the maximum length of a command line on Windows.
const maxCommand = 8000

// script runs a script. If it fails, the error is its message.
func (f winRMFiles) script(text string, in io.Reader) (status int, err error) {
	text = "$ErrorActionPreference='Stop';$ProgressPreference='SilentlyContinue';try{" + text +
		"}catch{[Console]::Error.WriteLine($_.Exception.Message);exit 2}"
	var utf []byte
	for _, u := range utf16.Encode([]rune(text)) {
		utf = append(utf, byte(u), byte(u>>8))
	}
	line := "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy Bypass -OutputFormat Text -EncodedCommand " +
		base64.StdEncoding.EncodeToString(utf)
	if len(line) > maxCommand {
		return 0, errors.New("its name is too long for a Windows command line")
	}
	message := &firstBytes{max: 4096}
	status, err = f.link.command(context.Background(), line, in, io.Discard, message)
	if err == nil && status == 2 {
		err = errors.New(strings.TrimSpace(string(message.text)))
	}
	return status, err
}

// literal returns a name as one word of PowerShell.
func literal(name string) string { return "'" + strings.ReplaceAll(name, "'", "''") + "'" }

func (f winRMFiles) isDir(name string) bool {
	status, err := f.script("if(Test-Path -LiteralPath "+literal(name)+" -PathType Container){exit 0};exit 1", nil)
	return err == nil && status == 0
}

func (f winRMFiles) mkdir(name string) error {
	if _, err := f.script("[void][IO.Directory]::CreateDirectory("+literal(name)+")", nil); err != nil {
		return fmt.Errorf("creating the directory %s: %w", name, err)
	}
	return nil
}

// write sends lines of base64, because the input of PowerShell is text.
func (f winRMFiles) write(name string, _ fs.FileMode, r io.Reader) error {
	encoded, w := io.Pipe()
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		w.CloseWithError(encode(w, r))
	}()
	status, err := f.script("$p=[IO.Path]::GetFullPath("+literal(name)+");[IO.File]::Delete($p);"+
		"$f=[IO.File]::Open($p,[IO.FileMode]::CreateNew);"+
		"try{foreach($l in $input){$b=[Convert]::FromBase64String($l);$f.Write($b,0,$b.Length)}}finally{$f.Close()}",
		encoded)
	_ = encoded.Close() // if the script did not read all of it
	<-sent
	if err == nil && status != 0 {
		err = fmt.Errorf("PowerShell ended with status %d", status)
	}
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	return nil
}

// encode writes the content of r as lines of base64.
func encode(to io.Writer, r io.Reader) error {
	w := bufio.NewWriterSize(to, maxInput)
	buf := make([]byte, 3<<10)
	for {
		n, err := io.ReadFull(r, buf)
		if n > 0 {
			if _, err := w.WriteString(base64.StdEncoding.EncodeToString(buf[:n]) + "\r\n"); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return w.Flush()
		case err != nil:
			return err
		}
	}
}

func (f winRMFiles) remove(name string) error {
	_, err := f.script("[IO.File]::Delete("+literal(name)+")", nil)
	return err
}

func (winRMFiles) close() {}
