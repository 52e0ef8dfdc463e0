// Package leak finds what a test has left behind: goroutines, descriptors,
// processes and temporary files. It is the common condition of every test that
// starts a process, whatever went wrong in it.
//
// Processes are found by a mark in their environment, wherever they hang in
// the tree: the CLI runs shells in sessions of their own. What a test starts
// must carry [Mark].
package leak
