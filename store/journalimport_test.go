package store

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"
)

// Lines of a transcript, by their names. Each follows the one that is named second.
const (
	askOne    = `{"type":"user","uuid":"ask","parentUuid":null,"message":{"content":"do it"}}`
	callOne   = `{"type":"assistant","uuid":"call1","parentUuid":"ask","message":{"id":"m1","content":[{"type":"tool_use","id":"t1"}]}}`
	callTwo   = `{"type":"assistant","uuid":"call2","parentUuid":"call1","message":{"id":"m1","content":[{"type":"tool_use","id":"t2"}]}}`
	resultOne = `{"type":"user","uuid":"result1","parentUuid":"call1","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}`
	resultTwo = `{"type":"user","uuid":"result2","parentUuid":"call2","message":{"content":[{"type":"tool_result","tool_use_id":"t2"}]}}`
	sayOne    = `{"type":"assistant","uuid":"say1","parentUuid":"result2","message":{"id":"m2","content":[{"type":"text","text":"done"}]}}`
	askTwo    = `{"type":"user","uuid":"ask2","parentUuid":"say1","message":{"content":"and then"}}`
	compacted = `{"type":"system","subtype":"compact_boundary","uuid":"compact","parentUuid":null,"logicalParentUuid":"say1"}`
	title     = `{"type":"custom-title","customTitle":"mine"}`

	// By an owner who continues without the journal.
	goOn        = `{"type":"user","uuid":"goOn","parentUuid":"call2","isMeta":true,"message":{"content":"Continue from where you left off."}}`
	otherResult = `{"type":"user","uuid":"other","parentUuid":"call1","message":{"content":[{"type":"tool_result","tool_use_id":"t1"}]}}`
	askOther    = `{"type":"user","uuid":"askOther","parentUuid":"say1","message":{"content":"something else"}}`
	sayOther    = `{"type":"assistant","uuid":"sayOther","parentUuid":"say1","message":{"id":"m9"}}`
)

// A journal is added behind what it continues, and refused as a whole if the session
// was continued without it.
func TestImportJournalOvertaken(t *testing.T) {
	whole := []string{askOne, callOne, callTwo, resultOne, resultTwo, sayOne}
	for name, tt := range map[string]struct {
		stored, journal []string
		overtaken       bool
	}{
		"from the beginning":          {nil, whole, false},
		"the rest":                    {whole[:2], whole[2:], false},
		"results in another order":    {[]string{askOne, callOne, callTwo, resultTwo}, []string{resultOne, sayOne}, false},
		"twice":                       {whole, whole, false},
		"partly there":                {whole[:4], whole[2:], false},
		"the next prompt":             {whole, []string{askTwo}, false},
		"a compaction":                {whole, []string{compacted}, false},
		"only a title":                {append(slices.Clone(whole), askOther), []string{title}, false},
		"continued without it":        {append(slices.Clone(whole[:3]), goOn), []string{resultOne, resultTwo, sayOne}, true},
		"its call was made again":     {[]string{askOne, callOne, callTwo, otherResult}, []string{resultOne}, true},
		"another prompt was answered": {append(slices.Clone(whole), askOther), []string{askTwo}, true},
		"partly there, and answered":  {append(slices.Clone(whole), askOther), []string{sayOne, askTwo}, true},
		"another answer":              {append(slices.Clone(whole), sayOther), []string{askTwo}, true},
		"a compaction came too late":  {append(slices.Clone(whole), askOther), []string{compacted}, true},
		"another beginning":           {[]string{askTwo}, whole, true},
		"something is missing":        {whole[:2], []string{sayOne}, true},
	} {
		t.Run(name, func(t *testing.T) {
			s := Memory()
			if len(tt.stored) > 0 {
				if err := s.Append(t.Context(), crashKey(), crashBatch(tt.stored...)); err != nil {
					t.Fatal(err)
				}
			}
			before := all(t.Context(), s)
			j, err := CreateJournal(filepath.Join(t.TempDir(), "j"), crashKey().Session)
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range tt.journal { // a batch for each
				if err := j.Append(crashKey(), crashBatch(l)); err != nil {
					t.Fatal(err)
				}
			}
			if err := j.Close(); err != nil {
				t.Fatal(err)
			}
			n, err := ImportJournal(t.Context(), s, j.Path(), Fence{})
			got := all(t.Context(), s)
			if tt.overtaken {
				if !errors.Is(err, ErrOvertaken) || n != 0 || !slices.Equal(got, before) {
					t.Errorf("ImportJournal = %d, %v; the store has %q", n, err, got)
				}
				return
			}
			if err != nil || n != len(tt.journal) {
				t.Errorf("ImportJournal = %d, %v", n, err)
			}
			for _, l := range tt.journal {
				if !slices.Contains(got, l) {
					t.Errorf("%s is missing", l)
				}
			}
		})
	}
}
