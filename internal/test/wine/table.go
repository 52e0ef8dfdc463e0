package main

// exception is a test that fails under wine although it holds on Windows.
type exception struct {
	pkg    string // relative to the module, "." for its root
	test   string // or a part of one, with slashes
	reason string
	hangs  bool // it is not run: it would end the tests of its package
}

// exceptions are all that are known, for wine 8.0.
func exceptions() []exception {
	return []exception{
		{"egress", "TestAccountsCountTogether", "a file that is open is not replaced", false},
		{"egress", "TestListen", "there are no Unix sockets", false},
		{"internal/demo", "TestSmall", "there is no go command", false},
		{"internal/private", "TestBelow", "access lists are kept as modes, and nothing inherits them", false},
		{"internal/proc", "TestCloseWriteEndsBlockedWrite", "CancelIoEx does not end a write that blocks", true},
		{"internal/test/wine", "TestLongPaths", "paths are those of Linux, of at most 4,095 bytes", false},
		{"internal/test/wine", "TestOpenFileIsReplaced", "a file that is open is not replaced", false},
		{"sandbox", "TestBridge", "there are no Unix sockets", false},
		{"store", "TestFiles/Records/many_change_it,_nothing_is_lost", "a file that is open is not replaced", false},
		{"workspace", "TestDeepFolders", "paths are those of Linux, of at most 4,095 bytes", false},
	}
}
