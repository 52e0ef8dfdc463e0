//go:build !unix

package regular

// noWait is not needed where a folder holds no pipes.
const noWait = 0
