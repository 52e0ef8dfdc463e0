// Package brief puts into a few words, for a line of a terminal or of a page, what a
// tool call is about, how a turn ended, and what it took.
package brief
