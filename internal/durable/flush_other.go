//go:build !darwin && !windows

package durable

import "os"

func flush(f *os.File) error { return f.Sync() }
