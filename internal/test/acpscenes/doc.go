// Package acpscenes replays conversations between an editor and an agent that
// were recorded with the npm adapter for Claude, and compares what an agent of
// this module says in the same place.
//
// A scene is a text file with a frame on each line. ">" is a frame of the editor,
// "<" one of the recorded agent, "=" a list of the model's replies to the prompts
// that follow, "!" an event: "restart" closes the connection and starts the agent
// anew, "kill" kills it first (an editor on a server is cut off), "until KIND" waits
// for an update. "$session" stands for the session, "$dir" for its directory. The
// frames of the agent are stripped by [Strip]: what depends on the run or is prose of
// the vendor is replaced, the structure stays.
//
// [Play] is an editor that follows a scene: it sends what the recorded editor
// sent, and waits where that one waited. [Compare] returns how the answers
// differ; each difference must be explained by a row of a [Table].
package acpscenes
