// Package filelock locks files against other processes and against other
// goroutines of this one. A lock ends with its file handle, so a process that
// dies frees its locks at once.
package filelock
