//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package filelock

import "os"

func try(*os.File) (bool, error) { return false, ErrUnsupported }
