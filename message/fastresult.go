package message

// fastResult reads the end of a turn.
func fastResult(raw []byte) *Result {
	var r fastReader
	r.Start(raw)
	m := new(Result)
	prompt := ""
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		if string(name) == "user_message_uuid" {
			prompt = r.Text()
		} else if !r.header(&m.Header, name) && !r.outcome(m, name) && !r.circumstance(m, name) {
			r.other(name)
		}
	}
	if !r.End() {
		return nil
	}
	m.Prompts = prompts(m.Prompts, prompt)
	return m
}

// outcome reads a member that describes the outcome of the turn.
func (r *fastReader) outcome(m *Result, name []byte) bool {
	switch string(name) {
	case "is_error":
		m.IsError = r.Bool()
	case "terminal_reason":
		m.TerminalReason = TerminalReason(r.Text())
	case "result":
		m.Text = r.Text()
	case "errors":
		m.Errors = r.texts()
	case "structured_output":
		m.StructuredOutput = r.present()
	case "stop_reason":
		m.StopReason = r.Text()
	case "num_turns":
		m.NumTurns = r.Int()
	case "duration_ms":
		m.DurationMS = int64(r.Int())
	case "duration_api_ms":
		m.DurationAPIMS = int64(r.Int())
	case "total_cost_usd":
		m.TotalCostUSD = r.Float()
	case "usage":
		r.usage(&m.Usage)
	case "modelUsage":
		m.ModelUsage = r.models()
	case "model_usage_since_last_result":
		m.TurnModelUsage = r.models()
	case "permission_denials":
		m.PermissionDenials = r.denials()
	case "user_message_uuids":
		m.Prompts = r.texts()
	case "result_index":
		if !r.Null() {
			m.ResultIndex = new(r.Int())
		}
	default:
		return false
	}
	return true
}

// circumstance reads a member that describes how the turn came about.
func (r *fastReader) circumstance(m *Result, name []byte) bool {
	switch string(name) {
	case "deferred_tool_use", "invalid_config_file":
		r.absent()
	case "origin":
		m.Origin = r.origin()
	case "queued_turn_count":
		m.QueuedTurnCount = r.Int()
	case "resume_reason":
		m.ResumeReason = r.Text()
	case "local_command":
		m.LocalCommand = r.Text()
	case "api_error_status":
		m.APIErrorStatus = r.Int()
	case "api_error_type":
		m.APIErrorType = r.Text()
	case "api_error":
		m.APIError = r.Text()
	case "startup_failure_reason":
		m.StartupFailureReason = r.Text()
	case "fast_mode_state":
		m.FastModeState = r.Text()
	case "fast_mode_disabled_reason":
		m.FastModeDisabledReason = r.Text()
	case "ttft_ms":
		m.TTFTMS = r.Float()
	case "ttft_stream_ms":
		m.TTFTStreamMS = r.Float()
	case "time_to_request_ms":
		m.TimeToRequestMS = r.Float()
	case "first_content_frame_ms":
		m.FirstContentFrameMS = r.Float()
	case "request_sent_wall_ms":
		m.RequestSentWallMS = r.Float()
	case "first_request_input_tokens":
		m.FirstRequestInputTokens = r.Int()
	case "first_request_cache_read_input_tokens":
		m.FirstRequestCacheReadInputTokens = r.Int()
	case "subagent_stats":
		r.subagents(&m.SubagentStats)
	case "safety_stops":
		m.SafetyStops = r.Int()
	default:
		return false
	}
	return true
}

// subagents reads the counts of subagents.
func (r *fastReader) subagents(s *SubagentStats) {
	if r.Null() {
		return
	}
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "spawned":
			s.Spawned = r.Int()
		case "requested":
			r.numbers(number{"background", &s.Requested.Background}, number{"foreground", &s.Requested.Foreground}, number{"unset", &s.Requested.Unset})
		case "started_in_background":
			s.StartedInBackground = r.Int()
		case "by_type":
			s.ByType = r.tally()
		case "max_depth":
			s.MaxDepth = r.Int()
		case "spawned_by_subagents":
			s.SpawnedBySubagents = r.Int()
		case "completed":
			s.Completed = r.Int()
		case "failed":
			s.Failed = r.Int()
		case "killed":
			r.numbers(number{"parent", &s.Killed.Parent}, number{"user", &s.Killed.User}, number{"system", &s.Killed.System})
		case "refused":
			r.numbers(number{"depth_limit", &s.Refused.DepthLimit}, number{"concurrency_limit", &s.Refused.ConcurrencyLimit}, number{"budget", &s.Refused.Budget})
		default:
			r.Skip()
		}
	}
}

// tally reads numbers under free names, nil for none.
func (r *fastReader) tally() map[string]int {
	if r.Null() {
		return nil
	}
	var all map[string]int
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		if all == nil {
			all = make(map[string]int)
		}
		all[string(name)] = r.Int()
	}
	return all
}

// models reads the usage of each model.
func (r *fastReader) models() map[string]ModelUsage {
	if r.Null() {
		return nil
	}
	all := make(map[string]ModelUsage)
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		var u ModelUsage
		r.model(&u)
		all[string(name)] = u
	}
	return all
}

func (r *fastReader) model(u *ModelUsage) {
	if r.Null() {
		return
	}
	o := r.Object()
	for name := r.Next(&o); name != nil; name = r.Next(&o) {
		switch string(name) {
		case "inputTokens":
			u.InputTokens = r.Int()
		case "outputTokens":
			u.OutputTokens = r.Int()
		case "thinkingTokens":
			u.ThinkingTokens = r.Int()
		case "cacheReadInputTokens":
			u.CacheReadInputTokens = r.Int()
		case "cacheCreationInputTokens":
			u.CacheCreationInputTokens = r.Int()
		case "cacheCreationEphemeral5mInputTokens":
			u.CacheCreationEphemeral5mInputTokens = r.Int()
		case "cacheCreationEphemeral1hInputTokens":
			u.CacheCreationEphemeral1hInputTokens = r.Int()
		case "webSearchRequests":
			u.WebSearchRequests = r.Int()
		case "costUSD":
			u.CostUSD = r.Float()
		case "contextWindow":
			u.ContextWindow = r.Int()
		case "maxOutputTokens":
			u.MaxOutputTokens = r.Int()
		case "canonicalModel":
			u.CanonicalModel = r.Text()
		case "provider":
			u.Provider = r.Text()
		case "costBasis":
			u.CostBasis = r.Text()
		default:
			r.Skip()
		}
	}
}

// denials reads the tool calls that were not allowed.
func (r *fastReader) denials() []PermissionDenial {
	if r.Null() {
		return nil
	}
	list := []PermissionDenial{}
	r.Array()
	for r.More(len(list)) {
		var d PermissionDenial
		o := r.Object()
		for name := r.Next(&o); name != nil; name = r.Next(&o) {
			switch string(name) {
			case "tool_name":
				d.ToolName = r.Text()
			case "tool_use_id":
				d.ToolUseID = r.Text()
			case "tool_input":
				d.ToolInput = r.raw()
			default:
				r.Skip()
			}
		}
		list = append(list, d)
	}
	return list
}
