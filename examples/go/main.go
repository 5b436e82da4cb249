// An agent in Go that looks up what it says in a base of larder, which it has in its own process. Any service with
// OpenAI's chat completions can be its language model.
//
//	go run . check "how long does a refund take"    looks it up; needs no account
//	go run . ask "how long does a refund take"      one turn, with the language model
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"os"

	"example.com/larder/reader"
)

const instructions = `You answer callers of a shop, in one or two short sentences.
Look things up before you state a fact, in the caller's own words. Name the source only if asked.
If the lookup is unavailable, say that you can't look it up right now. If nothing answers, say that you don't know.`

func main() {
	log.SetFlags(0)
	if len(os.Args) != 3 || os.Args[1] != "check" && os.Args[1] != "ask" {
		log.Fatal(`usage: check "question" or ask "question"`)
	}
	base, err := reader.OpenDir(cmp.Or(os.Getenv("LARDER_BASE"), "dist/refunds"), reader.Options{})
	if err != nil {
		log.Fatal(err) // an agent that knows nothing should not answer
	}
	defer base.Close()
	tool := base.Tool("", "")
	if os.Args[1] == "check" {
		fmt.Println("tool:", tool.Name)
		fmt.Println("answer:", lookUp(context.Background(), base, os.Args[2]))
		return
	}
	if err := ask(context.Background(), base, tool, os.Args[2]); err != nil {
		log.Fatal(err)
	}
}

// lookUp is what the model reads: one of three shapes, never an error.
func lookUp(ctx context.Context, base *reader.Base, query string) string {
	answer, err := json.Marshal(base.LookUp(ctx, query))
	if err != nil {
		return `{"error":"lookup unavailable"}`
	}
	return string(answer)
}

// ask is one turn: the model calls the tool as often as it likes, within a limit, and then speaks.
func ask(ctx context.Context, base *reader.Base, tool reader.Tool, question string) error {
	messages := []message{{Role: "system", Content: instructions}, {Role: "user", Content: question}}
	for range 5 {
		reply, err := complete(ctx, messages, tool)
		if err != nil {
			return err
		}
		messages = append(messages, reply)
		if len(reply.ToolCalls) == 0 {
			fmt.Println("agent:", reply.Content)
			return nil
		}
		for _, call := range reply.ToolCalls {
			var arguments struct{ Query string }
			result := `{"error":"invalid arguments"}`
			if call.Function.Name == tool.Name && json.Unmarshal([]byte(call.Function.Arguments), &arguments) == nil {
				result = lookUp(ctx, base, arguments.Query)
			}
			fmt.Println("called:", call.Function.Name, call.Function.Arguments)
			fmt.Println("answer:", result)
			messages = append(messages, message{Role: "tool", Content: result, ToolCallID: call.ID})
		}
	}
	return errors.New("the model calls tools without end")
}

type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
}

type toolCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

// complete asks the model for the next message.
func complete(ctx context.Context, messages []message, tool reader.Tool) (reply message, err error) {
	body, err := json.Marshal(map[string]any{
		"model":    cmp.Or(os.Getenv("MODEL"), "gpt-4.1-mini"),
		"messages": messages,
		"tools": []any{map[string]any{"type": "function", "function": map[string]any{
			"name": tool.Name, "description": tool.Description, "parameters": tool.InputSchema,
		}}},
	})
	if err != nil {
		return reply, err
	}
	url := cmp.Or(os.Getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1") + "/chat/completions"
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return reply, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+os.Getenv("OPENAI_API_KEY"))
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return reply, err
	}
	defer response.Body.Close()
	data, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return reply, err
	}
	if response.StatusCode != http.StatusOK {
		return reply, fmt.Errorf("the model's service answers %s: %.200s", response.Status, data)
	}
	var completion struct {
		Choices []struct{ Message message }
	}
	if err := json.Unmarshal(data, &completion); err != nil || len(completion.Choices) == 0 {
		return reply, fmt.Errorf("the model's service answers without a choice: %v", err)
	}
	return completion.Choices[0].Message, nil
}
