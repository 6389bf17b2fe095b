// Command label is a provider with the function label, for one-shot calls and sessions. The command modules of package
// bench compiles it to a WASI module and to a program of the system.
package main

import (
	"strings"

	"github.com/tombolo-iac/tombolo/kits/tombolo"
)

func main() {
	tombolo.Run(tombolo.Provider{Functions: map[string]func(...any) (any, error){
		"label": func(args ...any) (any, error) {
			text, _ := args[0].(string)
			return strings.NewReplacer(" ", "-", ",", "").Replace(strings.ToLower(text)), nil
		},
	}})
}
