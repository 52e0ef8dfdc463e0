package proc_test

// pipeRoom is how many bytes fit into a pipe without a reader.
const pipeRoom = 4000

// systemHelper has no helpers here.
func systemHelper(string) bool { return false }
