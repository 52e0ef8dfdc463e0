// Parity compares this SDK with the official ones and writes docs/parity.md:
//
//	go run ./internal/test/parity           # print what differs, exit 1 if anything is unexplained
//	go run ./internal/test/parity -write    # write docs/parity.md
//
// It lists options, control requests, hook events, messages, methods and
// functions: of the TypeScript SDK from the types that it publishes, of the
// Python SDK from a list that is kept here. A name that is not offered has a
// reason in the tables of this package. A name that is neither offered nor
// explained is an error, as is an entry for a name that is gone. Names that the
// tables claim to be offered must exist: fields and methods are looked up in the
// source, messages are decoded, hook events are compared by name.
package main
