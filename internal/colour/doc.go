// Package colour finds the keywords, texts, comments and the like in source code, so
// that pages can colour them.
//
// It reads code line by line and once, with a table for each language instead of a
// grammar: the time grows with the length of the text and with nothing else, even if
// the text is hostile. What it takes for a keyword may be wrong in rare cases; the text never
// changes. It is all text to the reader, with or without colours.
package colour
