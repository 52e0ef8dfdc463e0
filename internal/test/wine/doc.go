// Command wine runs the demo of claudectl and tests of this module as programs for
// Windows, on Linux:
//
//	go run ./internal/test/wine
//	go run ./internal/test/wine -demo
//	go run ./internal/test/wine -packages ./store,./internal/scratch
//
// The second command runs only the demo, the third other packages than the root package,
// internal/proc, internal/private, internal/scratch, claudetest and this one. If wine or
// the compiler of mingw is missing, apt-get installs it.
//
// Wine is not Windows. The Go runtime starts there only with a stub for a library that
// wine lacks, which is compiled here. Wine does not know the way in which Go removes files
// either, and in the old way a file that a reader has open keeps its name and its content
// until it is closed: a writer that makes it anew then loses what it writes. On NTFS the
// name is free at once, so an -overlay of the standard library frees it; the demo runs
// without that change. Tests that still fail because of wine are in a table, see
// [exceptions], with the reason. On any other failure the command fails.
package main
