// Package realstore shows with the real CLI what a session in a store promises:
// it continues on another machine, and an owner that has lost it writes nothing.
// [SharedLimits] shows without a CLI what programs with one store have together.
// It takes any store, so that the modules of the adapters, which have drivers of
// their own, can call it from their tests.
//
// With STORE_VERSIONS set, the tests that call [Resume] try every pinned version of
// the CLI, and each writes its row of docs/compatibility.md.
package realstore
