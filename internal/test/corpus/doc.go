// Command corpus makes the seeds of the fuzz targets from the recorded sessions
// in claudetest/testdata/sessions:
//
//	go run ./internal/test/corpus
//
// Each target gets what it reads: frames, one of each kind and the shortest;
// whole sessions, what the CLI wrote or was sent; messages to MCP servers. The
// files go to testdata/fuzz of the target's package, where go test runs them as
// seeds. Files that a fuzzer has found lie beside them and are left alone.
package main
