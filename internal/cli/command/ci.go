package command

import (
	"fmt"
	"path/filepath"

	"github.com/tombolo-iac/tombolo/internal/view/ci"
)

// CI returns the service whose syntax is used for groups and annotations, or none if TOMBOLO_CI does not select it:
// scripts also read the output of jobs.
func (c *Call) CI() ci.Service {
	s, _ := ci.Of(c.Getenv(ciVariable), c.Getenv)
	return s
}

// ciVariable is the name of the variable that selects the syntax of a service.
const ciVariable = "TOMBOLO_CI"

// Repository returns the path of the working directory in the repository, with slashes, as services name files. Outside
// of a job it returns "".
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

// ciProblem returns the problem of an ineffective value of the variable, or "".
func (c *Call) ciProblem() string {
	name := c.Getenv(ciVariable)
	if _, known := ci.Of(name, c.Getenv); known {
		return ""
	}
	return fmt.Sprintf("The environment variable %s is %q, so it has no effect. Set it to %s.", ciVariable, name,
		ci.Names)
}
