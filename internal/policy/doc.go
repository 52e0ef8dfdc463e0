// Package policy holds the rules of the house as tests. It has no code of its
// own: what a linter would need a configuration for is said here in Go.
//
// # Rules
//
// A rule looks at the parsed files of the module and returns its complaints.
// The layers and where third-party modules may appear are in layers_test.go,
// documentation comments in docs_test.go, sizes in sizes_test.go, what code
// must not do in conduct_test.go, and that the snippets of the README are
// compiled examples in readme_test.go.
//
// # A rule that cannot fail is none
//
// Each rule is listed with a small bad module that it must complain about, and
// with what must be in the complaint. The same list is then run over the real
// module, where nobody may complain.
package policy
