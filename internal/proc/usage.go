package proc

import "errors"

// Usage is the joint usage of a process and all its descendants.
type Usage struct {
	Memory    int64 // bytes; what several processes share counts once
	Processes int
}

// ErrNoUsage means that this system does not say what processes use.
var ErrNoUsage = errors.New("this system does not say what processes use")
