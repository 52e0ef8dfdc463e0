package wire

// frequentMessages are the most frequent messages of the CLI, by their first bytes.
var frequentMessages = [...]struct{ begin, typ string }{
	{`{"type":"stream_event","`, "stream_event"},
	{`{"type":"assistant","`, "assistant"},
	{`{"type":"user","`, "user"},
	{`{"type":"transcript_mirror","`, TypeMirror},
}

// Classify is Parse for a reader that wants to know where a line goes, and nothing
// else. It recognizes frequent messages by their first bytes. Their decoders refuse what
// Parse would have refused, since they walk through the members anyway: every decoder of
// messages checks [jsonx.EnvelopeNames], whether the line was recognized or parsed.
func Classify(line []byte) (Frame, error) {
	for _, m := range frequentMessages {
		if hasPrefix(line, m.begin) {
			return Frame{Line: line, Type: m.typ}, nil
		}
	}
	return Parse(line)
}

// IsPartialMessage recognises pieces of an answer, which are soon forgotten.
func IsPartialMessage(line []byte) bool { return hasPrefix(line, frequentMessages[0].begin) }

// IsMirror recognises lines that repeat a piece of a transcript. They may be cut off.
func IsMirror(line []byte) bool { return hasPrefix(line, frequentMessages[3].begin) }

func hasPrefix(line []byte, text string) bool {
	return len(line) > len(text) && string(line[:len(text)]) == text
}
