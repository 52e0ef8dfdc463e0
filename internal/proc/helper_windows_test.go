package proc_test

// pipeRoom is what fits into a pipe that nobody reads.
const pipeRoom = 4000

// systemHelper has no helpers here.
func systemHelper(string) bool { return false }
