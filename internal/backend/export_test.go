package backend

import "github.com/tombolo-iac/tombolo/internal/store/remote"

// Kinds returns the types of backends.
func Kinds() map[string]*remote.Kind { return kinds }
