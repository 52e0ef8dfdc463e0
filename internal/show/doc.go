// Package show has what the pages of this module share: how they show tool
// calls, questions, diffs and amounts. The inspector shows a recording, and
// package serve shows live sessions; a call should look the same in both.
//
// Text that others wrote is made visible here, not safe: html/template escapes it.
package show
