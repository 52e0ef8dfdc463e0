// Package recordio reads and writes the records of the server, in the form of package
// recordform: JSON objects with a version, in which unknown members survive. A record
// that does not exist, or whose name no record can have, is [store.ErrNotFound].
package recordio
