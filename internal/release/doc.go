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
//	go run ./internal/release -binaries dist                     # claudectl for all systems
//	go run ./internal/release -binaries dist -only linux/amd64   # or for one
//
// It builds the version that the tree has, and writes an archive for each system with the
// program and the licences of everything in it, a bill of materials (CycloneDX), the
// SHA-256 sums of all files, a Homebrew formula, and an entry for the registry
// of agents for editors. The same commit and the same Go
// give the same bytes, on any machine and in any folder.
//
// The other modules keep their replace directives, by which they are built with the
// neighbouring source: the go command obeys those of the main module alone, so a
// program that depends on such a module gets the version that it requires.
package main
