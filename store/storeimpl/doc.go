// Package storeimpl has what the stores of package store share, for those who write another
// one: readers of a watch that never hold up a writer, the text of an announcement, how to
// listen to a server that may be away, and the rules that all of them follow about leases,
// layouts, summaries and the order of views. Keys, batches, views and changes are checked by
// their own methods and by [store.CheckChanges].
package storeimpl
