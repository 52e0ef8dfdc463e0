// Package edit shows what a tool call would change in a file, as a diff. It reads
// the inputs of tools that edit, and opens no files.
package edit
