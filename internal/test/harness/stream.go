package harness

import (
	"iter"

	"github.com/claude-agent-go/claude/message"
)

// Collect ranges over a stream and describes what it yields: texts of the
// assistant, "result" and the text of results, the types of other messages. The
// error is the last one.
func Collect(stream iter.Seq2[message.Message, error]) (got []string, last error) {
	for msg, err := range stream {
		if err != nil {
			last = err
			continue
		}
		switch m := msg.(type) {
		case *message.Assistant:
			got = append(got, m.Text())
		case *message.Result:
			got = append(got, "result "+m.Text)
		default:
			got = append(got, m.Head().Type)
		}
	}
	return got, last
}

// LastError ranges over a stream and returns the last error that it yields.
func LastError(stream iter.Seq2[message.Message, error]) error {
	_, err := Collect(stream)
	return err
}
