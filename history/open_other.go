//go:build !unix

package history

// noWait is not needed where a folder holds no pipes.
const noWait = 0
