package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// storedID is the id of the session of a number.
func storedID(i int) string { return fmt.Sprintf("%08x-0000-4000-8000-000000000000", i) }

// writeSession writes a session of about a size, in the form of the CLI's: a
// prompt, what the model is told around it, then turns with tool calls and their
// results, and notes at the end.
func writeSession(config, id string, size int) (err error) {
	path := filepath.Join(config, "projects", "-work", id+".jsonl")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	w := &sessionFile{out: bufio.NewWriter(f), id: id}
	w.note(`"type":"mode","mode":"normal"`)
	w.note(`"type":"queue-operation","operation":"enqueue","timestamp":"2026-01-01T00:00:00.000Z","content":"Look at it"`)
	w.entry(`"promptId":"p","type":"user","message":{"role":"user","content":"Look at part %d of it, please"}`, w.lines)
	for range 2 {
		w.entry(`"attachment":{"type":"prompt_snapshot","content":"%s"},"type":"attachment"`, strings.Repeat("what the model is told, ", 1400))
	}
	for w.size < size-1000 {
		w.turn()
	}
	w.note(`"type":"last-prompt","lastPrompt":"Look at it","leafUuid":"` + w.parent + `"`)
	w.note(`"type":"cost-state","totalCostUSD":0.0123,"totalDuration":12000`)
	if err := w.out.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// sessionFile is a transcript that is being written.
type sessionFile struct {
	out    *bufio.Writer
	id     string
	parent string
	lines  int
	size   int
}

func (w *sessionFile) write(line string) {
	n, _ := w.out.WriteString(line) // Flush reports it
	w.size += n
}

// note writes a line beside the conversation.
func (w *sessionFile) note(members string) {
	w.write("{" + members + `,"sessionId":"` + w.id + "\"}\n")
}

// entry writes the next line of the conversation.
func (w *sessionFile) entry(format string, args ...any) {
	parent := "null"
	if w.parent != "" {
		parent = `"` + w.parent + `"`
	}
	w.lines++
	w.parent = fmt.Sprintf("%08x-1111-4111-8111-%s", w.lines, w.id[:8]+"0000")
	w.write(`{"parentUuid":` + parent + `,"isSidechain":false,` + fmt.Sprintf(format, args...) +
		fmt.Sprintf(`,"uuid":"%s","timestamp":"2026-01-01T00:%02d:%02d.000Z","userType":"external","entrypoint":"cli","cwd":"/work","sessionId":"%s","version":"2.1.325","gitBranch":"main"}`+"\n",
			w.parent, w.lines/60%60, w.lines%60, w.id))
}

// turn writes a prompt, a tool call with its result, and an answer.
func (w *sessionFile) turn() {
	const usage = `"usage":{"input_tokens":10,"cache_creation_input_tokens":200,"cache_read_input_tokens":30000,"output_tokens":150,"service_tier":"standard"}`
	w.entry(`"promptId":"p%d","type":"user","message":{"role":"user","content":"And what about \"part %d\"?\nIn one line."}`, w.lines, w.lines)
	call := fmt.Sprintf("toolu_%010d", w.lines)
	w.entry(`"message":{"model":"claude-sonnet-4-5","id":"msg_%d","type":"message","role":"assistant","content":[{"type":"tool_use","id":"%s","name":"Bash","input":{"command":"cat part-%d","description":"Read the part"}}],"stop_reason":"tool_use","stop_sequence":null,%s},"requestId":"req_%d","type":"assistant"`, w.lines, call, w.lines, usage, w.lines)
	result := strings.Repeat(`a line of a file with a \"word\" in it\n`, 120)
	w.entry(`"type":"user","message":{"role":"user","content":[{"tool_use_id":"%s","type":"tool_result","content":"%s","is_error":false}]},"toolUseResult":{"stdout":"%s","stderr":"","interrupted":false},"sourceToolAssistantUUID":"%s"`, call, result, result, w.parent)
	w.entry(`"message":{"model":"claude-sonnet-4-5","id":"msg_%d","type":"message","role":"assistant","content":[{"type":"text","text":"%s"}],"stop_reason":"end_turn","stop_sequence":null,%s},"requestId":"req_%d","type":"assistant"`, w.lines, strings.Repeat("This is what I found in it. ", 30), usage, w.lines)
}
