// Package regular opens regular files in directories that others write to, and nothing
// else: a pipe would be waited for, a device may have no end, and a link can lead to a
// file that was never meant to be read.
package regular
