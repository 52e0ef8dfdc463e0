// Package filelock locks files against other processes and against other
// goroutines of this one. A lock ends with its file's handle, so that of a
// process that died is free at once.
package filelock
