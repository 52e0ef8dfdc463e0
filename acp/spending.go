package acp

import (
	"encoding/json"
	"maps"

	"github.com/claude-agent-go/claude/internal/acp/schema"
	"github.com/claude-agent-go/claude/message"
)

// spending counts the tokens of a turn.
type spending struct {
	input, output, thinking int // thinking is a part of output
	read, written           int // from and to the cache
	models                  map[string]message.ModelUsage
}

func (s spending) total() int { return s.input + s.output + s.read + s.written }

// response returns how a turn ended, with its usage.
func (s spending) response(reason schema.StopReason) *schema.PromptResponse {
	resp := &schema.PromptResponse{StopReason: reason, Meta: map[string]any{"quota": s.quota()}}
	resp.Extra = map[string]json.RawMessage{"usage": raw(map[string]int{
		"inputTokens": s.input, "outputTokens": s.output, "cachedReadTokens": s.read, "cachedWriteTokens": s.written, "totalTokens": s.total(),
	})}
	return resp
}

// quota counts the tokens of a turn in the form that editors know.
func (s spending) quota() map[string]any {
	models := []any{}
	for name, u := range s.models {
		models = append(models, map[string]any{"model": name, "token_count": ofModel(u).counts()})
	}
	return map[string]any{"model_usage": models, "token_count": s.counts()}
}

func (s spending) counts() map[string]int {
	return map[string]int{
		"inputTokens": s.input, "outputTokens": s.output, "cachedInputTokens": s.read, "cachedWriteTokens": s.written,
		"reasoningOutputTokens": s.thinking, "totalTokens": s.total(),
	}
}

// ofModels adds up the usage of several models.
func ofModels(models map[string]message.ModelUsage) spending {
	s := spending{models: models}
	for _, u := range models {
		s = s.plus(ofModel(u))
	}
	return s
}

// plus returns the sum of both.
func (s spending) plus(other spending) spending {
	s.input, s.output, s.thinking = s.input+other.input, s.output+other.output, s.thinking+other.thinking
	s.read, s.written = s.read+other.read, s.written+other.written
	models := maps.Clone(s.models)
	for name, u := range other.models {
		if models == nil {
			models = make(map[string]message.ModelUsage)
		}
		now := models[name]
		now.InputTokens, now.OutputTokens, now.ThinkingTokens = now.InputTokens+u.InputTokens, now.OutputTokens+u.OutputTokens, now.ThinkingTokens+u.ThinkingTokens
		now.CacheReadInputTokens, now.CacheCreationInputTokens = now.CacheReadInputTokens+u.CacheReadInputTokens, now.CacheCreationInputTokens+u.CacheCreationInputTokens
		models[name] = now
	}
	s.models = models
	return s
}

// ofModel returns the usage of one model.
func ofModel(u message.ModelUsage) spending {
	return spending{input: u.InputTokens, output: u.OutputTokens, thinking: u.ThinkingTokens, read: u.CacheReadInputTokens, written: u.CacheCreationInputTokens}
}
