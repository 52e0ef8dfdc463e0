package natsfleet

import (
	"strings"

	"github.com/claude-agent-go/claude/store"
)

// layout makes the subjects of a fleet. All of them are in one stream, because a
// message can be fenced only by a subject of its own stream.
//
//	NAME.t.PROJECT.SESSION.SUB.e   entries of a transcript, one message for each batch
//	NAME.d.PROJECT.SESSION         the tombstone of a deleted session
//	NAME.r.PROJECT.KIND.RECORD     a record, the last message counts
//	NAME.v.PROJECT.KIND.RECORD     the beginning of a record that is too large for one message
//	NAME.l.PROJECT.LEASE.o         who has a lease: changes whenever it is renewed
//	NAME.l.PROJECT.LEASE.e         the epoch of a lease: changes only with its owner, and fences
//	NAME.l.PROJECT.LEASE.g         carries the fence of a write that has other conditions too
//	NAME.l.PROJECT.LEASE.d         carries the condition that a session was not deleted
//	NAME.l.PROJECT.LEASE.f.N       carries a condition of the Nth change of a batch: a folder is empty, a record is as it was
//	NAME.b.PROCESS.$               the mark of a process, see stream.mark
//	NAME.stored.…                  what the server announces when it has stored something
//	NAME.bus.TOPIC                 what processes send each other and nothing stores, see [fleet.Bus]
//
// A token "$" at the end is a barrier, see stream.collect.
type layout struct{ name string }

// The tokens for which names have no characters.
const (
	barrierToken = "$"
	mainToken    = "-" // the transcript of the session itself
)

// isBarrier reports whether a subject is that of a barrier.
func isBarrier(subject string) bool { return strings.HasSuffix(subject, "."+barrierToken) }

// barrierBelow is the subject of the barriers of a prefix. It has two tokens more, so that
// a barrier does not change the direct content of a folder of records, see
// records.ifEmpty.
func barrierBelow(prefix string) string {
	return prefix + "." + barrierToken + "." + barrierToken
}

// token makes a name, or a path of names, one token of a subject. The dot is the only
// character of names with a meaning in a subject.
var token = strings.NewReplacer(".", "%", "/", "|").Replace

// untoken returns the name that a token was made from.
var untoken = strings.NewReplacer("%", ".", "|", "/").Replace

// tokens makes a path of names as many tokens.
var tokens = strings.NewReplacer(".", "%", "/", ".").Replace

// untokens is the path that tokens were made from.
var untokens = strings.NewReplacer("%", ".", ".", "/").Replace

func (l layout) transcript(project, session, sub string) string {
	return strings.Join([]string{l.name, "t", token(project), session, subToken(sub)}, ".")
}

func subToken(sub string) string {
	if sub == "" {
		return mainToken
	}
	return token(sub)
}

// sessionOf is the session of the subject of a transcript.
func sessionOf(subject string) string { return strings.Split(subject, ".")[3] }

func (l layout) deleted(project, session string) string {
	return strings.Join([]string{l.name, "d", token(project), session}, ".")
}

func (l layout) kind(project, kind string) string {
	return strings.Join([]string{l.name, "r", token(project), token(kind)}, ".")
}

func (l layout) record(project, kind, name string) string {
	return l.kind(project, kind) + "." + tokens(name)
}

// folder is the prefix of the records in a folder.
func (l layout) folder(f store.Folder) string {
	if f.Name == "" {
		return l.kind(f.Project, f.Kind)
	}
	return l.record(f.Project, f.Kind, f.Name)
}

func (l layout) overflow(project, kind, name string) string {
	return strings.Join([]string{l.name, "v", token(project), token(kind), tokens(name)}, ".")
}

// part is the subject of the messages below overflow.
func (l layout) part(project, kind, name string) string {
	return l.overflow(project, kind, name) + ".v"
}

func (l layout) lease(project, name string) string {
	return strings.Join([]string{l.name, "l", token(project), token(name)}, ".")
}

// stored are all subjects of the stream.
func (l layout) stored() []string {
	var all []string
	for _, kind := range []string{"t", "d", "r", "v", "l", "b"} {
		all = append(all, l.name+"."+kind+".>")
	}
	return all
}

func (l layout) bus(topic string) string { return l.name + ".bus." + token(topic) }
