package claudetest_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/claude-agent-go/claude"
	"github.com/claude-agent-go/claude/claudetest"
)

// The function sees what the CLI asks, and answers as a model would. Here a
// plain HTTP request stands for the CLI.
func ExampleNewModelFunc() {
	model := claudetest.NewModelFunc(func(c *claudetest.ModelCall) claudetest.Reply {
		if len(c.ToolResults) > 0 {
			return claudetest.Say("The file says: " + c.ToolResults[0].Text)
		}
		return claudetest.UseTool("Read", map[string]string{"file_path": "/repo/" + c.Prompt})
	})
	baseURL, err := model.Start()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer model.Close()

	ask := func(content string) {
		body := `{"model":"any","tools":[{"name":"Read"}],"messages":[{"role":"user","content":` + content + `}]}`
		resp, err := http.Post(baseURL+"/v1/messages", "application/json", strings.NewReader(body))
		if err != nil {
			fmt.Println(err)
			return
		}
		defer resp.Body.Close()
		var answer struct{ Content []json.RawMessage }
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
			fmt.Println(err)
			return
		}
		fmt.Printf("%s\n", answer.Content)
	}
	ask(`"go.mod"`)
	ask(`[{"type":"tool_result","tool_use_id":"toolu_000001","content":"module example"}]`)
	// Output:
	// [{"type":"tool_use","id":"toolu_000001","name":"Read","input":{"file_path":"/repo/go.mod"}}]
	// [{"type":"text","text":"The file says: module example"}]
}

func ExampleDelegate() {
	ctx := context.Background()
	cli := claudetest.New(
		claudetest.Delegate("Explore", "Count the Go files.",
			claudetest.UseTool("Glob", map[string]string{"pattern": "*.go"}),
			claudetest.Say("There are three."),
		),
		claudetest.Say("An agent counts them."),
		claudetest.Say("Three Go files."),
	)
	result, err := claude.Ask(ctx, "How many Go files?", &claude.Options{Transport: cli})
	fmt.Println(result.Text, err)
	// Output: Three Go files. <nil>
}

func ExampleAnswer() {
	type city struct{ Name string }
	ctx := context.Background()
	cli := claudetest.New(claudetest.Answer(city{Name: "Oslo"}))
	answer, _, err := claude.AskAs[city](ctx, "Where?", &claude.Options{Transport: cli})
	fmt.Println(answer.Name, err)
	// Output: Oslo <nil>
}
