// Package scratch keeps data for the CLI in files, because they are too big or
// too secret for a command line.
//
// A [Folder] belongs to one session. Only this user can look into it, and it is
// removed when the session is over, however it ends. A process that is killed
// cannot remove anything. So a folder also holds a file that its owner keeps
// locked: the system frees the lock when the owner dies, and the next Folder that
// the same user makes on the machine removes every folder of that user whose lock
// is free; [Sweep] does it too. Windows has no such locks, but there an open file
// cannot be removed, which has the same effect.
//
// The lock, and not a process number, shows which owner is alive: containers that
// share a folder for temporary files do not share their numbers.
package scratch
