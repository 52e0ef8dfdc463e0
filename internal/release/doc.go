// Command release prepares a release of all modules of the repository, which share
// one version:
//
//	go run ./internal/release -version 0.2.0          # what would change, and what is in the way
//	go run ./internal/release -version 0.2.0 -write   # the same, written
//
// It sets the version in version.go and in what the other modules require of this
// one, gives the changelog's entries a heading with the date, and prints the commands
// that tag and push. It never tags or pushes by itself. Whatever is in the way, such as
// a tag that exists, makes it exit with 1 and write nothing.
//
// The other modules keep their replace directives, by which they are built with the
// neighbouring source: the go command obeys those of the main module alone, so a
// program that depends on such a module gets the version that it requires.
package main
