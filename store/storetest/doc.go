// Package storetest has the contract of a store as tests, for authors of
// stores.
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, storetest.Target{Open: func(t *testing.T) store.Fleet { return open(t) }})
//	}
//
// Every test uses its own projects with unique names, so that a store can be
// shared by tests and between runs.
package storetest
