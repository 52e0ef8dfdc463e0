package message

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/claude-agent-go/claude/internal/jsonx"
)

// Progress follows the agent's work: its to-do list, and the tasks that run
// beside the conversation. The zero value is ready to use. It is not safe for
// concurrent use.
type Progress struct {
	todos []Todo
	tasks []*Task
	calls ToolCalls
}

// Todo is one entry of the to-do list that the model keeps for itself.
type Todo struct {
	// ID is empty for a list that is written as a whole.
	ID string
	// Text is the thing to do; Active describes it while it is being done.
	Text, Active string
	// Status is how far it is.
	Status TodoStatus
}

// TodoStatus is how far an entry of the to-do list is.
type TodoStatus string

// How far an entry is. The set is open.
const (
	TodoPending    TodoStatus = "pending"
	TodoInProgress TodoStatus = "in_progress"
	TodoCompleted  TodoStatus = "completed"
)

// Done reports whether the entry is completed.
func (t *Todo) Done() bool { return t.Status == TodoCompleted }

// Task is a subagent, a background shell or a workflow.
type Task struct {
	ID          string
	ToolUseID   string // the call that started it
	Type        string
	Subagent    string // the type of a subagent
	Description string
	// Status is empty while it runs.
	Status     TaskStatus
	Background bool
	Usage      TaskUsage
	// LastTool is the tool it used last; Summary describes its work.
	LastTool, Summary string
	// OutputFile is where its output is, once it has ended.
	OutputFile string
}

// Done reports whether the task has ended, successfully or not; see Status.
func (t *Task) Done() bool { return t.Status.Done() }

// Todos returns the to-do list of the main conversation.
func (p *Progress) Todos() []Todo { return slices.Clone(p.todos) }

// Tasks returns the tasks so far, in the order they began.
func (p *Progress) Tasks() []Task {
	tasks := make([]Task, len(p.tasks))
	for i, t := range p.tasks {
		tasks[i] = *t
	}
	return tasks
}

// Add takes a message into account and reports whether something has changed.
func (p *Progress) Add(m Message) bool {
	switch m := m.(type) {
	case *TaskStarted:
		t := p.task(m.TaskID)
		t.ToolUseID, t.Type, t.Subagent, t.Description = m.ToolUseID, m.TaskType, m.SubagentType, m.Description
		t.Background, t.Status = m.IsBackgrounded, ""
		return true
	case *TaskProgress:
		t := p.task(m.TaskID)
		t.Usage, t.LastTool = m.Usage, m.LastToolName
		if m.Summary != "" {
			t.Summary = m.Summary
		}
		return true
	case *TaskUpdated:
		return p.task(m.TaskID).patch(m.Patch)
	case *TaskNotification:
		t := p.task(m.TaskID)
		t.Status, t.Summary, t.OutputFile = m.Status, m.Summary, m.OutputFile
		if m.Usage != (TaskUsage{}) {
			t.Usage = m.Usage
		}
		return true
	}
	changed := false
	for _, call := range p.calls.Add(m) {
		if call.Agent == (Subagent{}) && call.Result != nil && !call.Result.IsError {
			changed = p.note(call) || changed
		}
	}
	return changed
}

func (p *Progress) task(id string) *Task {
	i := slices.IndexFunc(p.tasks, func(t *Task) bool { return t.ID == id })
	if i < 0 {
		p.tasks = append(p.tasks, &Task{ID: id})
		i = len(p.tasks) - 1
	}
	return p.tasks[i]
}

func (t *Task) patch(change TaskPatch) bool {
	before := *t
	if change.Status.Done() {
		t.Status = change.Status
	}
	if change.Description != "" {
		t.Description = change.Description
	}
	if change.IsBackgrounded != nil {
		t.Background = *change.IsBackgrounded
	}
	return *t != before
}

// note reads the tools by which the model keeps its list: one writes the whole
// list, the others change one entry each.
func (p *Progress) note(call *ToolCall) bool {
	switch call.Use.Name {
	case "TodoWrite":
		var in struct {
			Todos []struct {
				Content    string     `json:"content"`
				Status     TodoStatus `json:"status"`
				ActiveForm string     `json:"activeForm"`
			} `json:"todos"`
		}
		if jsonx.Unmarshal(call.Use.Input, &in) != nil {
			return false
		}
		p.todos = nil
		for _, t := range in.Todos {
			p.todos = append(p.todos, Todo{Text: t.Content, Active: t.ActiveForm, Status: t.Status})
		}
		return true
	case "TaskCreate":
		return p.create(call.Use.Input, call.Output)
	case "TaskUpdate":
		return p.update(call.Use.Input)
	}
	return false
}

func (p *Progress) create(input, output json.RawMessage) bool {
	var in struct {
		Subject    string `json:"subject"`
		ActiveForm string `json:"activeForm"`
	}
	var out struct {
		Task struct {
			ID string `json:"id"`
		} `json:"task"`
	}
	if jsonx.Unmarshal(input, &in) != nil || jsonx.Unmarshal(output, &out) != nil {
		return false
	}
	p.todos = append(p.todos, Todo{ID: out.Task.ID, Text: in.Subject, Active: in.ActiveForm, Status: TodoPending})
	return true
}

func (p *Progress) update(input json.RawMessage) bool {
	var in struct {
		ID         string     `json:"taskId"`
		Subject    string     `json:"subject"`
		ActiveForm string     `json:"activeForm"`
		Status     TodoStatus `json:"status"`
	}
	if jsonx.Unmarshal(input, &in) != nil {
		return false
	}
	i := slices.IndexFunc(p.todos, func(t Todo) bool { return t.ID == in.ID && in.ID != "" })
	if i < 0 {
		return false
	}
	if in.Status == "deleted" {
		p.todos = slices.Delete(p.todos, i, i+1)
		return true
	}
	t := &p.todos[i]
	t.Text = cmp.Or(in.Subject, t.Text)
	t.Active = cmp.Or(in.ActiveForm, t.Active)
	t.Status = cmp.Or(in.Status, t.Status)
	return true
}
