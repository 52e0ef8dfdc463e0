package inspect

import (
	"fmt"
	"path"
	"strings"

	"github.com/claude-agent-go/claude/internal/jsonx"
	"github.com/claude-agent-go/claude/internal/show"
)

// mirror counts the lines of a transcript that a frame repeats. It is not part of
// a turn: its content is elsewhere in the recording.
func (s *Summary) mirror(f *Frame) {
	f.Kind = KindMirror
	for e := range jsonx.Elements(jsonx.Member(f.Msg, "entries")) {
		if len(e) > 0 {
			f.entries++
		}
	}
	s.MirrorFrames++
	s.MirrorEntries += f.entries
	f.Summary = show.Plural(f.entries, "line") + " of " + transcriptName(jsonx.Text(jsonx.Member(f.Msg, "filePath")))
}

// transcriptName is a transcript for people: the file, and of a subagent's the
// session too.
func transcriptName(file string) string {
	name := strings.TrimSuffix(strings.ReplaceAll(file, `\`, "/"), ".jsonl")
	if session, _, ok := strings.Cut(name, "/subagents/"); ok {
		return path.Base(name) + " in " + path.Base(session)
	}
	return path.Base(name)
}

// mirrored describes how much was mirrored.
func mirrored(frames, entries int) string {
	return fmt.Sprintf("%s (%s)", show.Plural(frames, "mirror frame"), show.Plural(entries, "line"))
}

// runSummary is the summary in a line of frames that are shown together.
func runSummary(run []*Frame) string {
	switch {
	case len(run) == 1:
		return run[0].withoutError()
	case run[0].Kind == KindStream:
		return fmt.Sprintf("%d pieces of an answer", len(run))
	}
	entries := 0
	for _, f := range run {
		entries += f.entries
	}
	return mirrored(len(run), entries)
}
