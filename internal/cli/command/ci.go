package command

import (
	"fmt"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/view/ci"
)

// CI returns the service whose syntax the text has for groups and annotations: none unless TOMBOLO_CI asks for it,
// because scripts read the output of jobs, too.
func (c *Call) CI() ci.Service {
	s, _ := ci.Of(c.Getenv(ciVariable), c.Getenv)
	return s
}

// ciVariable is the name of the variable that asks for the syntax of a service.
const ciVariable = "TOMBOLO_CI"

// Repository returns the working directory below that of the repository, with slashes: services name files so. Outside
// of a job it is empty.
func (c *Call) Repository() string {
	for _, name := range []string{"GITHUB_WORKSPACE", "CI_PROJECT_DIR"} {
		root := c.Getenv(name)
		if root == "" {
			continue
		}
		here, err := filepath.Abs(c.Surroundings.In("."))
		if err != nil {
			continue
		}
		if within, err := filepath.Rel(root, here); err == nil && within != "." && filepath.IsLocal(within) {
			return filepath.ToSlash(within)
		}
	}
	return ""
}

// ciProblem returns the problem of a value of the variable that has no effect, or nothing.
func (c *Call) ciProblem() string {
	name := c.Getenv(ciVariable)
	if _, known := ci.Of(name, c.Getenv); known {
		return ""
	}
	return fmt.Sprintf("The environment variable %s is %q, so it has no effect. Set it to %s.", ciVariable, name,
		ci.Names)
}
