// Package workspace gives each conversation a folder for its files, and takes the
// files along when the conversation moves to another machine.
//
// # Folders
//
// A [Provider] opens the folder of a conversation by its key. There are three:
//
//   - [Folders]: a plain folder on this machine.
//   - [Worktrees]: a git worktree of a repository, with a branch for each
//     conversation. The result is that branch, or a patch. As
//     [SnapshotOptions].Worktrees they also travel.
//   - [Snapshots]: a folder whose state is saved as content-addressed chunks, to
//     files, to a bucket or to the store of the conversations. It is restored
//     wherever the conversation is opened next.
//
// A fleet opens the folder when a conversation wakes, saves it at the end of each
// turn and before it gives the conversation away: see fleet.Options.Workspace.
//
// # What a snapshot promises
//
// A save puts chunks first, then a list of all files, and last a record that names
// the list. The record is written under the fence of the conversation's lease, and
// is the moment of the save: before it, the state is the old one, after it the new
// one, and a process that has lost the lease cannot write it. A save that breaks off
// leaves chunks that nothing names, which [Snapshots.Collect] removes.
//
// A restore fills a fresh folder and puts it in place by renaming it. So what is
// opened is always a state that was saved as a whole, or the folder as this machine
// left it if nothing was saved elsewhere since: work after the last save is then not
// lost, even if the process was killed.
//
// An unchanged file is not read again. It is told by its size, its times and its
// number in the file system, as git does.
//
// # What is saved
//
// Regular files, folders and symbolic links, with permissions and times of
// modification. Links are never followed. Pipes, sockets and devices are left out, and
// so is a file named .git, which a worktree has and which names a path of this machine.
// A folder named .git is saved like any other: commits of the conversation travel with
// it. Hard links become separate files. Snapshots.Ignore leaves out more.
//
// A worktree also takes its branch along, the commits that are not in its base, what is
// staged, and what is checked out. A file that is as the base has it is only named: every
// machine has a clone of the repository.
//
// Bounds on files and bytes are checked against the list of files, before any of them
// is read.
//
// Everything in this package may be used from several goroutines at once, but a [Workdir]
// is saved and closed by one at a time.
package workspace
