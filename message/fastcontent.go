package message

// content reads a list of blocks or a string, as Content.UnmarshalJSON does.
func (r *fastReader) content() Content {
	r.lists++
	defer func() { r.lists-- }()
	switch r.Peek() {
	case 'n':
		r.Null()
		return nil
	case '"':
		s := r.Text()
		if s == "" {
			return Content{}
		}
		return Content{&TextBlock{Text: s}}
	}
	if r.lists > maxNesting {
		r.Fail()
		return nil
	}
	out := make(Content, 0, 1)
	r.Array()
	for r.More(len(out)) {
		b := r.block()
		if b == nil || len(out) == maxBlocks {
			r.Fail()
			return nil
		}
		out = append(out, b)
	}
	return out[:len(out):len(out)] // appending makes a new list
}

// wireContent is content that remembers whether it was a string.
func (r *fastReader) wireContent() wireContent {
	plain := r.Peek() == '"'
	return wireContent{r.content(), plain}
}

// block reads a block of a known kind. Its type may be anywhere in it.
func (r *fastReader) block() Block {
	var w blockWire
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "type":
			w.Type = r.KnownText(blockText, blockToolUse, blockToolResult, blockThinking)
		case "text":
			w.Text = r.Text()
		case "citations":
			w.Citations = r.raw()
		case "thinking":
			w.Thinking = r.Text()
		case "signature":
			w.Signature = r.Text()
		case "data":
			w.Data = r.Text()
		case "id":
			w.ID = r.Text()
		case "name":
			w.Name = r.Text()
		case "input":
			w.Input = r.raw()
		case "tool_use_id":
			w.ToolUseID = r.Text()
		case "content":
			w.decoded = r.wireContent()
		case "is_error":
			w.IsError = r.Bool()
		case "source":
			r.source(&w.Source)
		case "title":
			w.Title = r.Text()
		case "context":
			w.Context = r.Text()
		default:
			r.Skip()
		}
	}
	if !r.OK() {
		return nil
	}
	return w.block(r.lists)
}

func (r *fastReader) source(s *Source) {
	if r.Null() {
		return
	}
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "type":
			s.Type = SourceType(r.Text())
		case "media_type":
			s.MediaType = r.Text()
		case "data":
			s.Data = r.Text()
		case "url":
			s.URL = r.Text()
		case "file_id":
			s.FileID = r.Text()
		default:
			r.Skip()
		}
	}
}

// fastAssistant reads a message of the model.
func fastAssistant(raw []byte) *Assistant {
	var r fastReader
	r.Start(raw)
	m := new(Assistant)
	prompt := ""
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "message":
			r.assistantBody(m)
		case "parent_tool_use_id":
			m.ParentToolUseID = r.Text()
		case "timestamp":
			m.Timestamp = r.time()
		case "error":
			m.Error = AssistantError(r.Text())
		case "api_error_status":
			m.APIErrorStatus = r.Int()
		case "api_error_type":
			m.APIErrorType = r.Text()
		case "request_id":
			m.RequestID = r.Text()
		case "user_message_uuid":
			prompt = r.Text()
		case "user_message_uuids":
			m.Prompts = r.texts()
		case "supersedes":
			m.Supersedes = r.texts()
		case "resume_reason":
			m.ResumeReason = r.Text()
		case "aborted":
			m.Aborted = r.Bool()
		case "agent_id":
			m.AgentID = r.Text()
		case "subagent_type":
			m.SubagentType = r.Text()
		case "task_description":
			m.TaskDescription = r.Text()
		case "context_usage":
			m.ContextUsage = r.raw()
		case "delta", "tool_use_meta", "local_command_run", "local_command_outcome":
			r.absent()
		default:
			if !r.header(&m.Header, name) && !r.aside(m, name) {
				r.other(name)
			}
		}
	}
	if !r.End() {
		return nil
	}
	m.Prompts = prompts(m.Prompts, prompt)
	return m
}

// aside reads a rare member.
func (r *fastReader) aside(m *Assistant, name []byte) bool {
	switch string(name) {
	case "is_api_error_message":
		m.IsAPIErrorMessage = r.Bool()
	case "api_error":
		m.APIError = r.Text()
	case "refused_message_id":
		m.RefusedMessageID = r.Text()
	case "thinking_display":
		m.ThinkingDisplay = r.KnownText("updates")
	case "thinking_duration_ms":
		m.ThinkingDurationMS = r.Float()
	case "local_command_source":
		m.LocalCommandSource = r.Text()
	default:
		return false
	}
	return true
}

// assistantBody reads the API message inside the line.
func (r *fastReader) assistantBody(m *Assistant) {
	if r.Null() {
		return
	}
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "id":
			m.ID = r.Text()
		case "model":
			m.Model = r.Text()
		case "content":
			m.Content = r.content()
		case "stop_reason":
			m.StopReason = r.KnownText("end_turn", "tool_use")
		case "stop_sequence":
			m.StopSequence = r.Text()
		case "usage":
			r.usage(&m.Usage)
		case "stop_details":
			m.StopDetails = r.present()
		case "container":
			m.Container = r.present()
		case "context_management":
			m.ContextManagement = r.present()
		case "diagnostics":
			m.Diagnostics = r.present()
		case "type", "role":
			r.KnownText("message", typeAssistant)
		default:
			r.Skip()
		}
	}
}

// outcomeLine holds a User and the CLI's notes on its only tool result, in one
// allocation.
type outcomeLine struct {
	User
	metas [1]ToolResultMeta
}

// metas reads the notes on tool results, into the existing room.
func (r *fastReader) metas(list []ToolResultMeta) []ToolResultMeta {
	if r.Null() {
		return nil
	}
	r.Array()
	for r.More(len(list)) {
		var t ToolResultMeta
		if !r.Null() {
			r.meta(&t)
		}
		list = append(list, t)
	}
	return list[:len(list):len(list)]
}

func (r *fastReader) meta(t *ToolResultMeta) {
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "id":
			t.ID = r.Text()
		case "permission_decision":
			r.decision(&t.PermissionDecision)
		case "non_execution_kind":
			t.NonExecutionKind = r.Text()
		case "user_feedback":
			t.UserFeedback = r.Text()
		default:
			r.Skip()
		}
	}
}

func (r *fastReader) decision(d *PermissionOutcome) {
	if r.Null() {
		return
	}
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "decision":
			d.Decision = r.Text()
		case "source":
			d.Source = r.Text()
		case "reason_type":
			d.ReasonType = r.Text()
		default:
			r.Skip()
		}
	}
}

// fastUser reads the results of tools, and other messages in the user's voice.
func fastUser(raw []byte) *User {
	var r fastReader
	r.Start(raw)
	l := new(outcomeLine)
	m := &l.User
	inner := false // a message outranks the content that some peers put beside it
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "message":
			inner = r.userBody(m)
		case "content":
			if c := r.wireContent(); !inner {
				m.Content, m.Plain = c.Content, c.plain
			}
		case "parent_tool_use_id":
			m.ParentToolUseID = r.Text()
		case "tool_use_result":
			m.ToolUseResult = r.raw()
		case "tool_result_meta":
			m.ToolResultMeta = r.metas(l.metas[:0])
		case "refused_message_id":
			m.RefusedMessageID = r.Text()
		case "isSynthetic":
			m.IsSynthetic = r.Bool()
		case "isReplay":
			m.IsReplay = r.Bool()
		case "priority":
			m.Priority = Priority(r.Text())
		case "origin":
			m.Origin = r.origin()
		case "shouldQuery":
			if !r.Null() {
				m.ShouldQuery = new(r.Bool())
			}
		case "client_composed":
			m.ClientComposed = r.Bool()
		case "timestamp":
			m.Timestamp = r.time()
		case "agent_id":
			m.AgentID = r.Text()
		case "subagent_type":
			m.SubagentType = r.Text()
		case "task_description":
			m.TaskDescription = r.Text()
		default:
			if !r.header(&m.Header, name) {
				r.other(name)
			}
		}
	}
	if !r.End() {
		return nil
	}
	return m
}

// userBody reads the message inside the line, and reports whether there is one.
func (r *fastReader) userBody(m *User) bool {
	if r.Null() {
		return false
	}
	m.Content, m.Plain = nil, false
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "content":
			c := r.wireContent()
			m.Content, m.Plain = c.Content, c.plain
		case "role":
			r.KnownText(typeUser)
		default:
			r.Skip()
		}
	}
	return true
}
