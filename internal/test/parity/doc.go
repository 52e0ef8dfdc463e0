// Parity compares this SDK with the official ones and writes docs/parity.md:
//
//	go run ./internal/test/parity           # print what differs, exit 1 if anything is unexplained
//	go run ./internal/test/parity -write    # write docs/parity.md
//
// It lists options, control requests, hook events, messages, methods and
// functions: of the TypeScript SDK from the types that it publishes, of the
// Python SDK from a list that is kept here. What is not offered has a reason in
// the tables of this package. What is neither offered nor explained is an error,
// and so is an entry for something that is gone. What is said to be offered must
// exist: fields and methods are looked up in the source, messages are decoded,
// hook events are compared by name.
package main
