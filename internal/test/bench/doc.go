// Command bench measures this SDK against the official TypeScript SDK and
// against what the machine allows.
//
//	go run ./internal/test/bench                              # everything, as a table
//	go run ./internal/test/bench -only history                # one part: sessions on disk
//	go run ./internal/test/bench -run permission              # some cases
//	go run ./internal/test/bench -only cli                    # the real CLI: what it uses, and what is ours beside it
//	go run ./internal/test/bench -only sessions -times 20     # 20 times in a row: the median, the worst, what held in all
//	go run ./internal/test/bench -json                        # one object for each case
//	go run ./internal/test/bench -quick                       # rough, for a look while working
//	go run ./internal/test/bench -write docs/performance.md   # everything, as a page
//	go run ./internal/test/bench -shortcuts                   # what each shortcut saves; -run chooses some
//
// # How it measures
//
// The program plays the CLI itself: started again with a variable set, it is a
// fake CLI that writes as fast as it is read. Both SDKs and the limits start
// the same program and ask it for the same rounds by a prompt, such as
// "delta 20000". Rounds of different clients take turns, and the median of a
// client's rounds counts, so that a noisy machine disturbs all of them alike.
//
// Streams are timed by the client, from the prompt to the result. Round trips
// are timed by the fake CLI, from its request to the reply, for all clients
// with the same clock.
//
// Sessions on disk are read by a process for each round, which reports its time
// and its peak memory.
//
// A fleet is measured by a program of the module that links SQLite, in
// store/sqlstore/internal/fleetbench, with a scripted CLI. One on NATS is measured by
// a program of the module that links it, in fleet/natsfleet/internal/natsbench, with
// three servers in processes of their own.
//
// The page of "claudectl serve" is loaded from a process that has just started,
// and its streams are read by a process of many readers. Prewarming is measured with the
// real CLI, from a prompt to the first word of its answer.
//
// Worktrees are opened beside git itself, folders are saved, and a CLI is started
// over an ssh server on loopback, which is this program's own.
//
// The real CLI runs in an environment of its own, with a scripted model on
// loopback. Our share is the time for which the CLI waits for us, and the
// processor time beyond that of the same dialogue by hand.
//
// # Noise
//
// A row has the spread of its rounds, and the processor time of each client
// beside its time. With -times a goal is met only if it was in every run, and the
// page lists what even the worst run reached: nothing more is promised.
//
// # The limits
//
// "split" reads the same pipe and does nothing but find the ends of lines.
// "check" also asks encoding/json whether each line is valid. "echo" is the raw
// pipe: each request is written back as it came.
//
// # What must hold
//
// The program knows the goals, prints for each whether it is met,
// and exits with 1 if one is not. With -quick it only prints.
package main
