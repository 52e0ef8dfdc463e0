package proc

import "errors"

// Usage is what a process and all that it has started use together.
type Usage struct {
	Memory    int64 // bytes; what several processes share counts once
	Processes int
}

// ErrNoUsage means that this system does not say what processes use.
var ErrNoUsage = errors.New("this system does not say what processes use")
