// Package storetest has the contract of a store as tests, for authors of
// stores.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Target{Open: func(t *testing.T) store.Store { return open(t) }})
//	}
//
// Optional abilities are tested if the store has them: [store.Lister],
// [store.SubLister], [store.Deleter], [store.Summarizer], [store.Leaser] and
// [store.Records] are found by type assertion, [store.RecordBatcher] by
// [store.Batcher] and [store.RecordViewer] by [store.Viewer].
//
// Every test uses its own projects with unique names, so that a store can be
// shared by tests and between runs.
//
// [Faulty] is for programs that use a store: it wraps one and makes its calls
// fail, time out, lose their replies or happen twice, as a seed decides.
package storetest
