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
// List reads the first and the last 64 KiB of a file, newest first, and only as
// far as the loop runs, so that the first twenty of ten thousand sessions cost
// twenty reads.
//
// # Reading
//
// A transcript is a tree: a session that was rewound has branches that nobody
// sees any more, and a compaction replaces what was said before by a summary.
// Read finds the conversation that the CLI would continue. Its messages have the
// types of package message, as if the session were live; the lines of the file
// are there too. Messages are read from the file as the loop asks for them.
//
// # Changing
//
// Rename, Tag and Archive are safe beside a live CLI, which takes them over.
// Fork copies a conversation, whole or up to a message, into a session of its
// own. Delete removes a session with everything that belongs to it and says what
// that was.
//
// # Trust
//
// Ids are UUIDs and nothing else, and no symbolic link leads out of the
// configuration directory. Files are read with care: lines that cannot be read
// are skipped and counted, lines and files have bounds. Anyone who knows an id
// can read the conversation, so a program that serves several users must check
// who owns it first.
package history
