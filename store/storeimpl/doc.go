// Package storeimpl has what the stores of package store share, for those who write another
// one: readers of a watch that never hold up a writer, the text of an announcement, and how to
// listen to a server that may be away.
package storeimpl
