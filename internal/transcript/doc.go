// Package transcript reads the files that the CLI keeps its sessions in. It is
// pure: bytes go in, facts come out, and nothing here opens a file.
//
// # What a file holds
//
// A session is a file of lines, each a JSON object with a type. Lines of the
// conversation (user, assistant, system, attachment) have a uuid and name the
// line before them in parentUuid; other lines record a title, a queue, a cost.
// The format belongs to the CLI, so an entry stays opaque beyond the few members
// this package needs, and its bytes are kept as they are.
//
// # Why order is not enough
//
// The lines are a tree. A session that was rewound, resumed at a message or
// written by two processes has branches that are no longer shown, a compaction
// cuts the conversation and moves what it preserved, and parallel tool calls hang
// beside the path. [Index.Conversation] finds the path that the CLI itself would
// continue, the way the official TypeScript SDK does.
//
// # Files are not trusted
//
// A file may be cut off, hold garbage, name parents that form a circle, or be
// built to be slow to read. Lines that cannot be read are counted and skipped,
// walks end where they have been before, and sizes are bounded.
package transcript
