// Package edit says what a tool call would change in a file, as a diff. It reads
// the inputs of the tools that edit, and opens no files.
package edit
