// Package cputime measures what a process has used of the processors. On a busy machine
// that says how much work something is; how long it takes says what else runs there.
//
// It counts all goroutines: a test that measures itself does not run beside others.
package cputime
