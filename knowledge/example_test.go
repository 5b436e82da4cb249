package knowledge_test

import (
	"context"
	"fmt"
	"log"

	"example.com/larder/knowledge"
	"example.com/larder/pipeline"
)

// An agent's program: bake it with the argument bake when the image is built; otherwise it loads the index and answers.
func Example() {
	pipeline.RunChild() // first thing in main: PDF files are read by the program itself as its child
	ctx := context.Background()
	refunds, err := knowledge.New("refunds", "knowledge/refunds",
		knowledge.IndexDir("knowledge/.index/refunds"),
		knowledge.Embed(knowledge.OpenAI(knowledge.OpenAIOptions{Model: "text-embedding-3-small"})),
		knowledge.CredentialEnv("OPENAI_API_KEY"))
	if err != nil {
		log.Fatal(err)
	}
	if err := refunds.Start(ctx); err != nil {
		log.Fatal(err) // an agent that knows nothing should not take calls
	}
	defer refunds.Close()
	tool := refunds.Tool("look_up_refund_policy", "Look up the refund policy. Use it before you state any refund or timescale.")
	answer, err := tool.Call(ctx, []byte(`{"query": "When do I get my money back?"}`))
	fmt.Println(answer.Results, err)
}

// What is wrong is told at once, with what is allowed.
func ExampleNew_wrong() {
	_, err := knowledge.New("Refunds", "knowledge/refunds", knowledge.Mode("keyword"), knowledge.TopK(50))
	fmt.Println(err)
	// Output:
	// knowledge base "Refunds": 2 fields are wrong:
	//   name: "Refunds" can't name a base (up to 63 of a-z, 0-9, _ and -, the first one a letter or digit; not "models")
	//   top_k: 50 is out of range (1 to 20)
}
