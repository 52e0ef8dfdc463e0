//go:build !windows

package private

import "os"

func mkdir(path string) error { return os.Mkdir(path, 0o700) }
