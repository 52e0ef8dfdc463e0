// Command systems checks that every module compiles on every system that is
// supported, with its tests:
//
//	go run ./internal/test/systems
//
// A system is an operating system and an architecture, such as linux/arm. The
// command reads the packages that the go command would compile there and checks their
// types, with the sizes of that architecture: a name that is missing on Windows, and a
// number that no int holds on 32 bits, are errors of this kind. It generates no code,
// which would take one and a half minutes of CPU for each system; this takes seconds.
// Assembly and linking are not checked. The workflow that makes the binaries does that.
package main
