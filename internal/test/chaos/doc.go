// Command chaos tries to make sessions leave something behind, and counts the
// leftovers:
//
//	go run ./internal/test/chaos -sessions 200
//	go run ./internal/test/chaos -soak
//
// # Sessions
//
// Each session runs a CLI as a child process, which runs a shell in a session of
// its own, as the real CLI does. At a random moment something happens to it: the
// CLI is killed, told to end or suspended, the session is closed, its context
// ends, or nothing. Some sessions run in a host of their own, a second process
// that is killed with all its CLIs and shells running. Where the real CLI is
// installed (internal/test/realcli) some sessions use that, with a scripted model on
// loopback.
//
// At the end there must be no process, no goroutine, no descriptor and no file
// that was not there before. A seed is printed; -seed repeats its choices,
// though not the moments at which the system lets them happen.
//
// # Soak
//
// One session carries a million messages and a hundred thousand control
// operations; ten thousand sessions are opened and closed one after the other,
// each with a process; a thousand are open at once. The heap, goroutines and
// descriptors must not grow with any of it.
//
// Both need Linux, where /proc shows what is there. Neither is part of go test.
package main
