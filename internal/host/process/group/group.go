// Package group signals a program together with its children: by its process group, and on Windows by a job object.
// Descendants that leave the group, as daemons do, are not reached.
package group
