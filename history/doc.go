// Package history lists, reads and manages the sessions that the Claude Code CLI
// keeps on disk: what was said, under which title, on which branch.
//
//	h := history.Disk("")
//	for info, err := range h.List(ctx, history.Query{Dir: repo, Limit: 20}) {
//		if err != nil {
//			return err
//		}
//		fmt.Println(info.Modified.Format(time.DateTime), info.Title)
//	}
//	t, err := h.Read(ctx, id)
//
// # Listing
//
// List reads the first and the last 64 KiB of each file, newest first, and
// only as far as the loop runs. The first twenty of ten thousand sessions cost
// twenty reads. A first prompt that is longer, such as one with a screenshot, is
// read to its end.
//
// # Reading
//
// A transcript is a tree: a session that was rewound has hidden branches, and a
// compaction replaces the earlier conversation with a summary. Read finds the
// conversation that the CLI would continue; with Page.Whole, messages that compactions
// have left behind come before it. Its messages have the types of
// package message, as if the session were live; the lines of the file are also
// available. Messages are read from the file as the loop asks for them.
//
// # Changing
//
// Rename, Tag and Archive are safe while a CLI is using the session; it picks
// up the changes. Fork copies a conversation, whole or up to a message, into a
// new session. Delete removes a session with everything that belongs to it and
// lists what it removed.
//
// # In a store
//
// In returns the history of a project in a store, with the same methods, types
// and errors. Transcripts are loaded whole.
//
// # Trust
//
// Ids must be UUIDs, and no symbolic link leads out of the configuration
// directory. Files are read with care: unreadable lines are skipped and
// counted, and the sizes of lines and files are limited. Anyone with an id can
// read the conversation; if your program serves several users, verify ownership
// first.
package history
