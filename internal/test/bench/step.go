package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"time"
)

// recordedStep is the output of the real CLI, with a mirror, while the model
// answers once: a text in a hundred deltas, a call of a tool and its result, and
// the lines that it adds to its transcript. TestRealStep records it, and compares
// it with the CLI of today.
//
//go:embed testdata/step.ndjson
var recordedStep []byte

// The kinds of rounds that repeat the step, as many times as is asked for.
const (
	stepsKind         = "steps"          // line by line
	mirroredStepsKind = "steps-mirrored" // and with the lines of the transcript
	burstKind         = "burst"          // the same, each step with one write
	mirroredBurstKind = "burst-mirrored"
)

// linePause is how long the fake CLI waits after a line, at least. The real one
// takes 700 µs of processor time for a delta: it is read before the next one comes.
const linePause = 50 * time.Microsecond

// step is the output of a CLI for an answer of the model, line by line.
type step struct {
	lines    [][]byte
	messages int // of them that a client counts
}

// How lines begin that are not counted.
const (
	mirrorBegin = `{"type":"transcript_mirror"`
	systemBegin = `{"type":"system"`
)

// newStep returns the step with or without its mirror. Nothing else is different.
func newStep(mirrored bool) step {
	var s step
	for line := range bytes.Lines(recordedStep) {
		if bytes.HasPrefix(line, []byte(mirrorBegin)) {
			if mirrored {
				s.lines = append(s.lines, line)
			}
			continue
		}
		s.lines = append(s.lines, line)
		if !bytes.HasPrefix(line, []byte(systemBegin)) {
			s.messages++
		}
	}
	return s
}

// steps writes a step n times.
func (f *fake) steps(kind string, n int) error {
	s := newStep(kind == mirroredStepsKind || kind == mirroredBurstKind)
	if kind == burstKind || kind == mirroredBurstKind {
		s.lines = [][]byte{bytes.Join(s.lines, nil)}
	}
	for range n {
		for _, line := range s.lines {
			if err := f.write(line); err != nil {
				return fmt.Errorf("%s: %w", kind, err)
			}
			if kind == stepsKind || kind == mirroredStepsKind {
				time.Sleep(linePause)
			}
		}
	}
	return nil
}
