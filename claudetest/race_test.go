//go:build race

package claudetest_test

// stride thins out the tests byte by byte: the race detector makes them ten times
// slower and sees nothing new after the first few.
func stride() int { return 16 }
