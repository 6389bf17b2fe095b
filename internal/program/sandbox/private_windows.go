//go:build !without_modules

package sandbox

import "io/fs"

// private reports whether only this user can write to a folder: the user's cache folder has such permissions.
func private(fs.FileInfo) bool { return true }

// nonblock has no meaning: there are no pipes in folders.
const nonblock = 0
