// Package cputime measures the CPU time of a process. On a busy machine that shows
// how much work something is; the wall time shows what else runs there.
//
// It counts all goroutines: a test that measures itself does not run beside others.
package cputime
