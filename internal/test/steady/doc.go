// Command steady runs the tests again and again on a machine that is busy with other
// things, and lists those that failed.
//
//	go run ./internal/test/steady                        # the quick level, 20 times beside two busy loops
//	go run ./internal/test/steady -times 5 -procs 1      # 5 times with GOMAXPROCS=1
//	go run ./internal/test/steady -times 5 -loops 1 -long   # the long level beside one busy loop
//	go run ./internal/test/steady -times 50 ./serve/...  # a piece of it
//	go run ./internal/test/steady -times 1 -loops 0      # what the tests cost
//
// It compiles every test binary once, so that a round costs what the tests themselves
// cost. After each round it prints the time and the CPU time of the test binaries with
// what they started, and at the end a table of the tests that failed, with the output
// of the first failure of each. The exit code is 1 if there is one. The other modules
// are tested with -C, such as -C fleet/natsfleet.
//
// # What makes a test unsteady
//
// A test that passes alone and fails beside others nearly always measures the machine
// instead of the code. Beside two busy loops a goroutine may wait for a processor for
// a tenth of a second at any point, and a new process for a second. So:
//
//   - Patience is not a measurement. A wait that ends when something happens costs
//     nothing if it is long: ten seconds at least, better a minute. If a test must see
//     that nothing happens, let it wait for something that comes after. A rule of
//     internal/test/rules finds shorter contexts, leases and bounds outside of bubbles.
//   - A lease, a timeout or a poll that the test needs to expire belongs on an injected
//     clock, or into a bubble of testing/synctest, where it costs nothing at all.
//   - A sleep synchronises nothing. Wait for the signal, the file or the line that
//     shows the other side is there.
//   - Speed is measured in CPU time, and as a ratio to other work of the same run: wall
//     time depends on what else runs there. Better still, count: reads of the
//     store, bytes, allocations.
package main
