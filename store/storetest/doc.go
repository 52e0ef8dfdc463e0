// Package storetest has the contract of a store as tests, for those who write
// one.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Target{Open: func(t *testing.T) store.Store { return open(t) }})
//	}
//
// What a store need not be able to do is tested if it can: [store.Lister],
// [store.SubLister], [store.Deleter], [store.Summarizer], [store.Leaser] and
// [store.Records] are found by type assertion.
//
// Every test uses projects of its own, whose names nobody else uses, so that a
// store can be shared by tests and between runs.
package storetest
