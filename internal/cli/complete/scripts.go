package complete

import (
	"context"
	"fmt"
	"strings"

	"github.com/tombolo-iac/tombolo/internal/cli/command"
)

// shells are the shells with scripts.
var shells = []string{"bash", "fish", "powershell", "zsh"}

// scripts are the completion scripts of the shells. NAME stands for the name under which the program is called, PROGRAM
// for its path. They do the same as the lines of Install, and add no space after the name of a folder.
var scripts = map[string]string{
	"bash": `_NAME_complete() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        COMPREPLY+=("$line")
    done < <(COMP_LINE="$COMP_LINE" COMP_POINT="$COMP_POINT" PROGRAM "$1" "$2" "$3" 2>/dev/null)
    case "${COMPREPLY[0]-}" in
        */ | *=) [ "${#COMPREPLY[@]}" = 1 ] && compopt -o nospace ;;
    esac
}
complete -F _NAME_complete NAME
`,
	"zsh": `#compdef NAME
_NAME_complete() {
    local -a found closed open
    local one
    found=("${(@f)$(COMP_LINE="${(j: :)words[1,CURRENT]}" PROGRAM "${words[1]}" "$PREFIX" "${words[CURRENT-1]}" 2>/dev/null)}")
    for one in "${found[@]}"; do
        case "$one" in
            '') ;;
            */ | *=) open+=("$one") ;;
            *) closed+=("$one") ;;
        esac
    done
    (( ${#open} )) && compadd -Q -S '' -- "${open[@]}"
    (( ${#closed} )) && compadd -Q -- "${closed[@]}"
}
if [ "${funcstack[1]}" = "_NAME" ]; then
    _NAME_complete "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit; }
    compdef _NAME_complete NAME
fi
`,
	"fish": `function __complete_NAME
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    PROGRAM 2>/dev/null
end
complete -f -c NAME -a "(__complete_NAME)"
`,
	// Backslashes are doubled, because the program splits the line like other shells. Words that begin with a quote or
	// need quotes are put into single quotes.
	"powershell": `Register-ArgumentCompleter -Native -CommandName 'NAME' -ScriptBlock {
    param($word, $ast, $cursor)
    $line = $ast.ToString()
    $at = $cursor - $ast.Extent.StartOffset
    if ($at -lt $line.Length) { $line = $line.Substring(0, $at) }
    if ($word -eq '') { $line += ' ' }
    $env:COMP_LINE = $line.Replace('\', '\\')
    try {
        PROGRAM 2>$null | ForEach-Object {
            $text = $_
            if ($word -match '^["'']' -or $text -match '[\s"''` + "``" + `$&;|<>(){}@,#]') {
                $text = "'" + $text.Replace("'", "''") + "'"
            }
            [System.Management.Automation.CompletionResult]::new($text, $_, 'ParameterValue', $_)
        }
    } finally {
        Remove-Item Env:COMP_LINE
    }
}
`,
}

func script(shell, name, program string) string {
	return strings.NewReplacer("NAME", name, "PROGRAM", program).Replace(scripts[shell])
}

// Command is the command completion.
func Command() *command.Command {
	return &command.Command{
		Name: "completion", Short: "Print the completion script for a shell", Args: "SHELL",
		Long: `Print a completion script for bash, fish, zsh or PowerShell. It completes commands, options, files,
workspaces, outputs, variables, providers, and addresses in the state and the configuration. To use it:

  bash  source <(~ completion bash)        in .bashrc
  zsh   source <(~ completion zsh)         in .zshrc
  fish  ~ completion fish | source         in config.fish

  PowerShell  ~ completion powershell | Out-String | iex   in $PROFILE

"~ -install-autocomplete" adds nearly the same to the files of the first three.`,
		Example: "~ completion bash > /etc/bash_completion.d/~",
		Setup: func(c *command.Call) command.Run {
			return func(context.Context) command.Outcome {
				if len(c.Args) != 1 {
					return c.WrongUse("The completion command expects exactly one argument.")
				}
				if scripts[c.Args[0]] == "" {
					return c.Misuse("Unknown shell", "There is no completion for %[2]q, only for %[1]s.",
						strings.Join(shells, ", "), c.Args[0])
				}
				fmt.Fprint(c.Out, script(c.Args[0], c.Program, c.Program))
				return command.Done
			}
		},
	}
}
