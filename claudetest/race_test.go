//go:build race

package claudetest_test

// stride thins out what is tested byte by byte: the race detector makes it ten
// times slower and has nothing new to see after the first few.
func stride() int { return 16 }
