// Package rules holds the rules of this repository as tests. It has no code of its
// own: what a linter would need a configuration for is said here in Go.
//
// # Rules
//
// A rule looks at the parsed files of the module and returns its complaints.
// The layers and where third-party modules may appear are in layers_test.go,
// documentation comments in docs_test.go, sizes in sizes_test.go, what code
// must not do in conduct_test.go, and words that make a reader stumble in
// words_test.go.
//
// Documents are also held to the source: their Go code is cut out of compiled
// examples (snippets_test.go), the names, links and error texts they mention
// exist, every package is in the architecture (documents_test.go), the tests
// that promises and commands name exist (named_test.go), and docs/api.txt lists
// what the module exports (api_test.go). "go test ./internal/test/rules -update"
// writes the parts that are made from the source.
//
// # Every rule can fail
//
// Each rule is listed with a small bad module that it must complain about, and
// with what must be in the complaint. The same list is then run over the real
// module, where no rule may complain.
package rules
