// Package inspect reads the recording of a session and shows what happened in
// it: who said what and when, which request was answered how fast, which was
// not, what a turn cost, and what in it this module does not know.
//
// # Reading
//
// [Read] takes the format of claudetest.Record: one JSON object per line, with
// direction, time and message. It is tolerant, because recordings break where
// sessions do. A line that cannot be read stays in the timeline at its place,
// with its number and the reason; only a file without a single line of a
// recording is an error. Lines without an envelope, as the CLI itself writes
// them, are taken as its output.
//
// # The report
//
// A [Report] has three views of the same lines. [Report.Frames] are the lines in
// order. [Report.Exchanges] pair requests with their replies, in both directions.
// [Report.Turns] show the conversation: prompts, what the model said, tool calls
// with the questions that were asked about them, results, cost. Problems and
// names that the typed decoders do not know are listed apart.
//
// A [Filter] narrows all views to the frames that match and what belongs to
// them. The totals stay those of the whole recording.
//
// [Turn.Calls] are the calls of the model, with what each read and cost. [Compare] puts
// two reports side by side.
//
// # Showing
//
// [Report.WriteText] writes for a terminal, [Report.WriteJSON] for programs and
// [Report.WriteHTML] one page for people, which needs nothing but itself: styles
// and script are inside, and its policy forbids everything else. All text of a
// recording is untrusted: the terminal gets it through package terminal, the page
// through html/template, and secrets are taken out while reading, before anything
// else sees them.
//
// Long text is cut, and every cut is marked: see [Limits].
package inspect
