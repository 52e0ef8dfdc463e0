// Package markdown renders untrusted Markdown, such as that of a model that read
// a hostile web page, as HTML for our pages.
//
// The syntax is that of CommonMark with tables, strikethrough, task lists and
// bare addresses; goldmark parses it. The HTML is made here, from a small set of
// tags, and everything else is text: see [HTML].
package markdown
