// Compat measures what each pinned version of the CLI can do, with the scripted
// model behind it, and writes docs/compatibility.md:
//
//	go run ./internal/test/compat                  # all pinned versions
//	go run ./internal/test/compat 2.0.0 2.1.325    # some, printed and not written
//	go run ./internal/test/compat -only Verbatim   # some features; the page keeps the rest
//
// With the flag -suite it runs the tests with the real CLI instead, on each
// version or on those given, and writes their columns of docs/suite.md. With
// -suite -missing it runs those that the page lacks, and drops what is gone.
//
// Each version that is not in .cache yet is a download. A feature counts when
// its effect was seen: a call that came, a line that was written, a reply that
// was not a refusal.
package main
