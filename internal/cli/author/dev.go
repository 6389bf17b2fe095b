package author

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/tombolo-iac/tombolo/diag"
	"github.com/tombolo-iac/tombolo/internal/cli/command"
	"github.com/tombolo-iac/tombolo/internal/host/process/group"
)

const (
	lookEvery   = 300 * time.Millisecond
	mostWatched = 20_000 // files and folders
	mostShown   = 3      // changed files
	// mostOwn is the number of successive runs during which a file may change before the runs count as the cause.
	mostOwn = 3
)

func cmdDev() *command.Command {
	return &command.Command{
		Name: "dev", Short: "Plan again whenever a file changes", Args: "[DIR...]", Mixed: true,
		Long: `Run a command, plan by default, and run it again whenever a file changes in the working directory or in
the folders DIR, until Ctrl-C: the configuration, the manifest of a program provider, or the program itself. If the
command is still running, it is interrupted first.

Hidden files, states, and the folders node_modules and __pycache__ are not watched. If a file changes during three
successive runs, such as the log of a program, its changes count only while no command runs.

With -debug, the program of the provider runs under a debugger in each run, as in "provider test". A program that you
have started in your editor with TOMBOLO_LISTEN=SOCKET stays between runs: -debug=unix:SOCKET connects to it.`,
		Exits: "0  Ctrl-C ended it.\n1  The command could not be started, or the files could not be watched.",
		Example: "~ provider dev ./notes\n~ provider dev -run \"provider test ./notes\" ./notes\n" +
			"~ provider dev -debug unix:/tmp/notes.sock ./notes",
		Setup: func(c *command.Call) command.Run {
			line := c.Flags.String("run", "plan", "The `COMMAND` to run, without the name of the program.")
			debug := c.Flags.String("debug", "", debugText)
			return c.Stoppable(func(ctx context.Context) command.Outcome {
				args := strings.Fields(*line)
				if len(args) == 0 {
					return c.Misuse("The command is missing", "Name one with -run, such as -run=\"plan -concise\".")
				}
				own, err := os.Executable()
				if err != nil {
					return c.Finish("The command cannot be started", err)
				}
				d := &development{call: c, own: own, args: args, folders: append([]string{"."}, c.Args...),
					during: map[string]int{}, env: os.Environ()}
				if *debug != "" {
					variable, diags := debugVariable(d.folders, *debug)
					if diags.HasErrors() {
						return c.End(diags)
					}
					d.env = append(d.env, variable)
				}
				return c.End(d.run(ctx))
			})
		},
	}
}

// development runs a command again and again.
type development struct {
	call    *command.Call
	own     string // the path of this program
	args    []string
	env     []string
	folders []string
	during  map[string]int // during how many successive runs a file has changed
}

// version is the size of a file and the time of its last change: if one differs, the file has changed.
type version struct {
	size  int64
	mtime time.Time
}

// run runs the command until ctx is done.
func (d *development) run(ctx context.Context) diag.List {
	const cannot = "The files cannot be watched"
	files, err := d.look()
	if err != nil {
		return diag.List{}.AppendError(cannot, err)
	}
	for {
		d.say("%s %s", d.call.Program, strings.Join(d.args, " "))
		running, stop := context.WithCancel(ctx)
		ended, err := d.start(running)
		if err != nil {
			stop()
			return diag.List{}.AppendError("The command cannot be started", err)
		}
		var changed []string
		if changed, files, err = d.wait(ctx, files, ended); err == nil && len(changed) > 0 {
			d.say("Changed: %s", shortened(changed))
		}
		stop()
		<-ended
		if err != nil {
			return diag.List{}.AppendError(cannot, err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// start starts the command. Its channel is closed when the command has ended. If ctx ends, the command is interrupted,
// except on Windows, and may finish what it has in flight.
func (d *development) start(ctx context.Context) (<-chan struct{}, error) {
	cmd := exec.CommandContext(ctx, d.own, d.args...)
	cmd.Env = d.env
	cmd.Stdout, cmd.Stderr = d.call.Out, d.call.Err
	group.Lead(cmd, false) // the interrupt of the terminal would be its second one, which aborts what is in flight
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = cmd.Wait() // the command has reported its problems
	}()
	return ended, nil
}

// wait returns the files that have changed, as soon as there are any, and the new versions of all files. It returns
// none when ctx is done. ended is closed when the command has ended.
func (d *development) wait(ctx context.Context, files map[string]version, ended <-chan struct{}) ([]string,
	map[string]version, error) {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	touched := map[string]bool{} // during the run
	for {
		running := ended != nil // what has changed since the last look, changed during the run
		select {
		case <-ctx.Done():
			return nil, files, nil
		case <-ended:
			ended = nil
			d.say("Waiting for a change in %d files. Ctrl-C ends this command.", len(files))
		case <-tick.C:
		}
		now, err := d.look()
		if err != nil {
			return nil, files, err
		}
		changed := changes(files, now)
		files = now
		if running {
			changed = d.count(changed, touched)
		}
		if len(changed) > 0 {
			maps.DeleteFunc(d.during, func(name string, _ int) bool { return !touched[name] })
			return changed, files, nil
		}
	}
}

// count counts the changes during a run in which some files were touched already, and returns those that end it.
func (d *development) count(changed []string, touched map[string]bool) []string {
	return slices.DeleteFunc(changed, func(name string) bool {
		if !touched[name] {
			touched[name] = true
			if d.during[name]++; d.during[name] == mostOwn {
				d.say("%s has changed during %d successive runs. Its changes count only while no command runs.", name,
					mostOwn)
			}
		}
		return d.during[name] >= mostOwn
	})
}

// look returns the versions of all files that are watched.
func (d *development) look() (map[string]version, error) {
	files, seen := map[string]version{}, 0
	for _, folder := range d.folders {
		err := filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				if path == folder {
					return err
				}
				return nil // it was removed since, or cannot be read
			}
			if seen++; seen > mostWatched {
				return fmt.Errorf("there are more than %d files in %s. Start the command in the folder of the project",
					mostWatched, strings.Join(d.folders, " and "))
			}
			switch {
			case path != folder && unwatched(e.Name()) && e.IsDir():
				return fs.SkipDir
			case e.IsDir(), unwatched(e.Name()):
				return nil
			}
			info, err := os.Stat(path)
			if err == nil && info.Mode().IsRegular() {
				files[path] = version{info.Size(), info.ModTime()}
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// unwatched reports whether changes of a file or folder with this name do not count.
func unwatched(name string) bool {
	return strings.HasPrefix(name, ".") || strings.Contains(name, ".tfstate") || strings.HasSuffix(name, "~") ||
		name == "node_modules" || name == "__pycache__"
}

// changes returns the names of the files that differ, in order.
func changes(before, after map[string]version) []string {
	var names []string
	for name, v := range after {
		if old, ok := before[name]; !ok || old != v {
			names = append(names, name)
		}
	}
	for name := range before {
		if _, ok := after[name]; !ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// shortened lists names, the first ones only if there are many.
func shortened(names []string) string {
	if more := len(names) - mostShown; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:mostShown], ", "), more)
	}
	return strings.Join(names, ", ")
}

func (d *development) say(format string, args ...any) {
	fmt.Fprintf(d.call.Err, "%s  %s\n", time.Now().Format(time.TimeOnly), fmt.Sprintf(format, args...))
}
