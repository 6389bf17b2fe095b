//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows)

package handler

import "os"

func tryLock(*os.File) bool { return true }

func unlock(*os.File) {}

func inheritable(*os.File) []*os.File { return nil }
