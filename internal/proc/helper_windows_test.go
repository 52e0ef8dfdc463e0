package proc_test

// systemHelper has no helpers here.
func systemHelper(string) bool { return false }
