//go:build heavy

package interop

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// What agents use: the MCP Python SDK, LiveKit Agents and Pipecat, in one virtual environment with the versions that the
// examples pin, against the binary. Python 3.11 or later is needed.
func TestClients(t *testing.T) {
	examples, err := filepath.Abs("../examples")
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	python := pythonEnv{newVenv(t, "--no-compile", "-c", filepath.Join("clients", "constraints.txt"),
		"-r", filepath.Join(examples, "livekit", "requirements.txt"), "-r", filepath.Join(examples, "pipecat", "requirements.txt")), t.TempDir()}
	t.Logf("installed in %.0f s", time.Since(start).Seconds())
	larder := buildLarder(t)
	refunds := bakeRefunds(t, larder)
	t.Run("Calls", func(t *testing.T) { testCalls(t, python, larder, refunds) })
	t.Run("Examples", func(t *testing.T) { testExamples(t, python, larder, examples) })
	t.Run("Call", func(t *testing.T) { testCall(t, python, larder, examples) })
	t.Run("README", func(t *testing.T) { testStarts(t, python, larder, refunds) })
}

// buildLarder builds the binary as larder in a folder of its own.
func buildLarder(t *testing.T) string {
	t.Helper()
	larder := filepath.Join(t.TempDir(), "larder")
	run(t, "", "go", "build", "-o", larder, "example.com/larder/cmd/larder")
	return larder
}

// answer is in the notes, and nowhere in a question.
const answer = "five working days"

// notes are the base that clients ask.
var notes = map[string]string{
	"base.yaml":     "mode: keyword\n",
	"timescales.md": "# Refund timescales\n\nA refund to a bank card takes five working days from the day the parcel reaches us.\n",
	"codes.md":      "# Error codes\n\nE-4012 means that the return label has expired. Print a new one.\n",
	"büro.md":       "# Bürozeiten\n\nDas Büro ist \"nur\" vormittags & samstags geschlossen. Возврат в тот же день.\n",
}

// bake bakes files as a base into a shelf below a new folder, which it returns.
func bake(t *testing.T, larder, base string, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	writeFiles(t, filepath.Join(dir, base), files)
	run(t, dir, larder, "bake", base, "-o", "dist")
	return dir
}

// bakeRefunds bakes the sample base of that name, for keywords and meaning.
func bakeRefunds(t *testing.T, larder string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	run(t, "..", larder, "bake", filepath.Join("content", "refunds"), "--embedder", "native", "-o", filepath.Join(dir, "dist"))
	return dir
}

type clientServer struct {
	Command string   `json:"command,omitempty"`
	Args    []string `json:"args,omitempty"`
	URL     string   `json:"url,omitempty"`
}

type clientCall struct {
	Tool      string         `json:"tool"`
	Arguments map[string]any `json:"arguments"`
}

type clientTool struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Input       map[string]any `json:"input"`
	Output      map[string]any `json:"output"`    // of the SDK alone, and so is the next
	ReadOnly    bool           `json:"read_only"` // a hint
}

type clientAnswer struct {
	Text       string `json:"text"`
	Structured any    `json:"structured"` // of the SDK alone
	Failed     *bool  `json:"failed"`     // nil for Pipecat, which hands on the text alone
}

type transcript struct {
	Tools   []clientTool   `json:"tools"`
	Answers []clientAnswer `json:"answers"`
}

// clients are the scripts below clients/. The SDK negotiates in two ways.
var clients = []struct{ name, script string }{
	{"MCP Python SDK, initialize", "mcp_sdk.py legacy"},
	{"MCP Python SDK, discover", "mcp_sdk.py auto"},
	{"LiveKit Agents", "livekit_agents.py"},
	{"Pipecat", "pipecat_ai.py"},
}

// A clientTask is a server, and what a client calls of it.
type clientTask struct {
	Server clientServer `json:"server"`
	Calls  []clientCall `json:"calls"`
}

// converse lets a client list the tools of servers and call them.
func converse(t *testing.T, python pythonEnv, script string, tasks []clientTask) (got []transcript) {
	t.Helper()
	in, err := json.Marshal(tasks)
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Fields(script)
	out := python.run(t, "", nil, in, append([]string{filepath.Join("clients", words[0])}, words[1:]...)...)
	if err := json.Unmarshal([]byte(out), &got); err != nil || len(got) != len(tasks) {
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return got
}

// A pythonEnv is a virtual environment whose programs leave nothing in the folders that they are in.
type pythonEnv struct{ python, cache string }

func (p pythonEnv) command(t *testing.T, dir string, env []string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), p.python, args...)
	cmd.Dir = dir
	cmd.Env = append(append(os.Environ(), "PYTHONPYCACHEPREFIX="+p.cache), env...)
	return cmd
}

// run runs a program in dir and returns what it prints.
func (p pythonEnv) run(t *testing.T, dir string, env []string, in []byte, args ...string) string {
	t.Helper()
	cmd := p.command(t, dir, env, args...)
	cmd.Stdin = bytes.NewReader(in)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		t.Fatalf("%s: %v\n%s\n%s", cmd, err, out.String(), log.String())
	}
	return out.String()
}

// serveHTTP starts larder mcp on a free port until the test ends and returns where it listens.
func serveHTTP(t *testing.T, larder string, args ...string) clientServer {
	t.Helper()
	address := freeAddress(t)
	start(t, exec.Command(larder, append([]string{"mcp", "--http", address}, args...)...), address)
	return clientServer{URL: "http://" + address + "/mcp"}
}

// freeAddress is one that nothing listens on.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts a server, which the test's end kills, waits until it listens, and returns its log, complete once stop has
// returned.
func start(t *testing.T, cmd *exec.Cmd, address string) (log *bytes.Buffer, stop func()) {
	t.Helper()
	log = &bytes.Buffer{}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	stop = func() {
		cmd.Process.Kill()
		<-ended
	}
	t.Cleanup(stop)
	for range 1200 {
		if c, err := net.Dial("tcp", address); err == nil {
			c.Close()
			return log, stop
		}
		select {
		case <-ended:
			t.Fatalf("%s: %s\n%s", cmd, cmd.ProcessState, log)
		case <-time.After(100 * time.Millisecond):
		}
	}
	stop()
	t.Fatalf("%s doesn't listen on %s\n%s", cmd, address, log)
	return nil, nil
}

// testCalls asks each client over each transport the same, and compares what they get: of an artifact with keywords, of a
// folder whose embedder fails now and then, and of an artifact with vectors.
func testCalls(t *testing.T, python pythonEnv, larder, refunds string) {
	shelf := filepath.Join(bake(t, larder, "notes", notes), "dist")
	folder := writeWithService(t, notes)
	calls := []clientCall{
		{"look_up", map[string]any{"query": "How long does a refund take?"}},
		{"look_up", map[string]any{"query": "Büro возврат"}},
		{"look_up", map[string]any{"query": " \t\n"}},
		{"look_up", map[string]any{"query": "refund", "top_k": 1}},
		{"look_up", map[string]any{}},
		{"search", map[string]any{"query": "expired label"}},
	}
	refunds = filepath.Join(refunds, "dist", "refunds")
	hybrid := []clientCall{{"look_up", map[string]any{"query": "How long until I get my money back?"}}}
	service := []clientCall{
		{"look_up", map[string]any{"query": unavailable}},
		{"look_up", map[string]any{"query": "How long does a refund take?"}},
		{"kb_search_content", map[string]any{"query": "return label"}},
	}
	tasks := []clientTask{
		{clientServer{Command: larder, Args: []string{"mcp", shelf}}, calls},
		{serveHTTP(t, larder, shelf), calls},
		{clientServer{Command: larder, Args: []string{"mcp", folder}}, service},
		{serveHTTP(t, larder, folder), service},
		{clientServer{Command: larder, Args: []string{"mcp", refunds}}, hybrid},
		{serveHTTP(t, larder, refunds), hybrid},
	}
	var first []transcript
	for _, client := range clients {
		got := converse(t, python, client.script, tasks)
		for i, task := range tasks {
			transport := "stdio"
			if task.Server.URL != "" {
				transport = "HTTP"
			}
			t.Logf("%s, %s\n%s", client.name, transport, got[i].format(task.Calls))
		}
		if first == nil {
			first = got
			checkAnswers(t, got[0])
			if a := got[2].Answers; a[0].Text != `{"error":"lookup unavailable"}` || *a[0].Failed || !strings.Contains(a[2].Text, `"files_found":1`) {
				t.Errorf("with a service that fails a base answers %s, and with its files %s", a[0].Text, a[2].Text)
			}
			sources(t, got[2].Answers[1])
			if found := sources(t, got[4].Answers[0]); !slices.Contains(found, "refund-timescales.md") || !strings.Contains(got[4].Answers[0].Text, `"score":0.`) {
				t.Errorf("refunds answers %s", got[4].Answers[0].Text)
			}
		}
		for i := range got {
			compareTranscripts(t, fmt.Sprintf("%s, task %d", client.name, i), first[i/2*2], got[i])
		}
	}
}

// format shows what was called and what came back.
func (s transcript) format(calls []clientCall) string {
	var names []string
	for _, tool := range s.Tools {
		names = append(names, tool.Name)
	}
	text := "  tools: " + strings.Join(names, ", ")
	for i, a := range s.Answers {
		arguments, _ := json.Marshal(calls[i].Arguments)
		text += fmt.Sprintf("\n  %s %s\n    %s", calls[i].Tool, arguments, a.Text)
	}
	return text
}

// unavailable is a question that the service of embeddings does not answer.
const unavailable = "What is in nobody's mind?"

// writeWithService writes the folder of a base that a service embeds.
func writeWithService(t *testing.T, files map[string]string) (folder string) {
	t.Helper()
	service := httptest.NewServer(http.HandlerFunc(embed))
	t.Cleanup(service.Close)
	files = maps.Clone(files)
	files["base.yaml"] = "mode: meaning\nembedder: openai\nopenai: {model: letters, base_url: \"" + service.URL + "/v1\", retries: 0}\n"
	folder = filepath.Join(t.TempDir(), "notes")
	writeFiles(t, folder, files)
	return folder
}

// embed answers as a service of embeddings does: how often each letter of the alphabet is in a text, which is never zero.
func embed(w http.ResponseWriter, r *http.Request) {
	var request struct{ Input []string }
	body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	if err == nil {
		err = json.Unmarshal(body, &request)
	}
	if err != nil || bytes.Contains(body, []byte(unavailable)) {
		http.Error(w, "not now", http.StatusServiceUnavailable)
		return
	}
	type embedding struct {
		Object    string    `json:"object"`
		Index     int       `json:"index"`
		Embedding []float64 `json:"embedding"`
	}
	var data []embedding
	for i, text := range request.Input {
		vector := make([]float64, 27)
		vector[26] = 1
		for _, r := range strings.ToLower(text) {
			if r >= 'a' && r <= 'z' {
				vector[r-'a']++
			}
		}
		data = append(data, embedding{"embedding", i, vector})
	}
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(map[string]any{"object": "list", "data": data, "model": "letters", "usage": map[string]int{"prompt_tokens": 1, "total_tokens": 1}})
}

// checkAnswers compares what the SDK saw with what is promised.
func checkAnswers(t *testing.T, got transcript) {
	t.Helper()
	for _, tool := range got.Tools {
		// A language model's service may refuse an object without properties.
		if !tool.ReadOnly || tool.Description == "" || tool.Input["properties"] == nil || tool.Input["additionalProperties"] != false || tool.Output["type"] != "object" {
			t.Errorf("%s: read-only %v, description %q, input %v, output %v", tool.Name, tool.ReadOnly, tool.Description, tool.Input, tool.Output)
		}
	}
	lookUp, ok := find(got.Tools, "look_up")
	want := map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"query": map[string]any{"type": "string", "description": "What to look up. Use the caller's own words."}},
		"required":             []any{"query"},
		"additionalProperties": false,
	}
	if !ok || !reflect.DeepEqual(lookUp.Input, want) {
		t.Fatalf("look_up takes %v", lookUp.Input)
	}
	var passages [2][]string
	for i := range passages {
		passages[i] = sources(t, got.Answers[i])
	}
	if passages[0][0] != "timescales.md" || passages[1][0] != "büro.md" {
		t.Errorf("found in %q", passages)
	}
	if a := got.Answers[2]; a.Text != `{"results":[]}` || *a.Failed {
		t.Errorf("nothing found looks like %s, failed %v", a.Text, *a.Failed)
	}
	for i, name := range map[int]string{3: "top_k", 4: "query"} {
		if a := got.Answers[i]; !*a.Failed || !strings.Contains(a.Text, name) || strings.Contains(a.Text, "results") {
			t.Errorf("wrong arguments: %s, failed %v", a.Text, *a.Failed)
		}
	}
	var found struct {
		Results []struct{ ID, Title, URL string }
	}
	if err := json.Unmarshal([]byte(got.Answers[5].Text), &found); err != nil || len(found.Results) == 0 || found.Results[0].Title != "Error codes" {
		t.Errorf("%v: search finds %s", err, got.Answers[5].Text)
	}
	for _, i := range []int{0, 1, 2, 5} {
		a := got.Answers[i]
		var parsed any
		if err := json.Unmarshal([]byte(a.Text), &parsed); err != nil || !reflect.DeepEqual(parsed, a.Structured) {
			t.Errorf("answer %d: %v: text and structure differ: %s, %v", i, err, a.Text, a.Structured)
		}
	}
}

// sources are the files that passages were found in. It fails if a passage has other keys than text, source and score.
func sources(t *testing.T, a clientAnswer) (names []string) {
	t.Helper()
	var found struct {
		Results []struct {
			Text, Source string
			Score        *float64
		}
	}
	decoder := json.NewDecoder(strings.NewReader(a.Text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&found); err != nil || len(found.Results) == 0 {
		t.Fatalf("%v: no passages in %s", err, a.Text)
	}
	for _, p := range found.Results {
		if p.Text == "" || p.Source != filepath.Base(p.Source) {
			t.Errorf("passage %+v", p)
		}
		names = append(names, p.Source)
	}
	return names
}

// compareTranscripts compares what a client saw with what the SDK saw: equal but for what the client leaves out.
func compareTranscripts(t *testing.T, name string, want, got transcript) {
	t.Helper()
	if len(got.Tools) != len(want.Tools) || len(got.Answers) != len(want.Answers) {
		t.Fatalf("%s: %d tools and %d answers, want %d and %d", name, len(got.Tools), len(got.Answers), len(want.Tools), len(want.Answers))
	}
	for i, w := range want.Tools {
		g := got.Tools[i]
		same := g.Name == w.Name && g.Description == w.Description
		for _, key := range []string{"type", "properties", "required", "additionalProperties"} {
			_, handedOn := g.Input[key] // Pipecat leaves out additionalProperties
			same = same && (!handedOn && key == "additionalProperties" || equalOrEmpty(g.Input[key], w.Input[key]))
		}
		if !same {
			t.Errorf("%s: tool %+v, want %+v", name, g, w)
		}
	}
	for i, w := range want.Answers {
		g := got.Answers[i]
		if g.Text != w.Text || g.Failed != nil && *g.Failed != *w.Failed {
			t.Errorf("%s: answer %s, want %s", name, g.Text, w.Text)
		}
	}
}

// equalOrEmpty compares values of JSON. A missing list is an empty one.
func equalOrEmpty(a, b any) bool {
	list, isList := a.([]any)
	return reflect.DeepEqual(a, b) || b == nil && isList && len(list) == 0
}

func find(tools []clientTool, name string) (clientTool, bool) {
	for _, tool := range tools {
		if tool.Name == name {
			return tool, true
		}
	}
	return clientTool{}, false
}

// testExamples runs the agents of examples/ as far as they go without a cloud: a check of the tools, and a turn in
// writing with a scripted model, over both transports.
func testExamples(t *testing.T, python pythonEnv, larder, examples string) {
	dir := bake(t, larder, "notes", notes)
	model := newScriptedModel(t)
	const question = "How long does a refund take?"
	stdio := []string{"LARDER_COMMAND=larder mcp dist", onPath(larder)}
	t.Setenv("LARDER_TOKEN", strings.Repeat("token", 8)) // which the server asks for and the agents send
	http := []string{"LARDER_URL=" + serveHTTP(t, larder, "--token-env", "LARDER_TOKEN", filepath.Join(dir, "dist")).URL}
	for _, example := range []string{"livekit", "pipecat"} {
		file := filepath.Join(examples, example, "agent.py")
		checked := python.run(t, dir, http, nil, file, "check", question)
		t.Logf("%s, check over HTTP\n%s", example, checked)
		if !strings.Contains(checked, "look_up") || !strings.Contains(checked, answer) {
			t.Errorf("%s: check prints %s", example, checked)
		}
		said := python.run(t, dir, append(model.environment(), stdio...), nil, file, "ask", question)
		t.Logf("%s, turn over stdio\n%s", example, said)
		checkTurn(t, example, said, model)
	}
	said := runGo(t, filepath.Join(examples, "go"), dir, append(model.environment(), "LARDER_BASE=dist/notes"), "ask", question)
	t.Logf("go\n%s", said)
	checkTurn(t, "go", said, model)
}

// testCall calls Pipecat's agent as a browser does, by WebRTC on this machine, and waits until it speaks. Only speech
// services and the model are scripted.
func testCall(t *testing.T, python pythonEnv, larder, examples string) {
	dir := bake(t, larder, "notes", notes)
	model := newScriptedModel(t)
	model.query = "How long does a refund take?"
	address := freeAddress(t)
	host, port, _ := net.SplitHostPort(address)
	agent := python.command(t, dir, append(model.environment(), onPath(larder)),
		filepath.Join(examples, "pipecat", "agent.py"), "-t", "webrtc", "--host", host, "--port", port)
	log, stop := start(t, agent, address)
	heard := python.run(t, "", nil, nil, filepath.Join("clients", "caller.py"), "http://"+address)
	stop()
	_, results := model.seen()
	t.Logf("%s\n%q", heard, results)
	if len(results) != 1 || !strings.Contains(results[0], answer) {
		t.Errorf("the tool told the model %q", results)
	}
	if logged := log.String(); strings.Contains(logged, answer) || strings.Contains(logged, model.query) || !strings.Contains(logged, "INFO") {
		t.Errorf("the agent's log holds what was said, or nothing:\n%s", logged)
	}
}

// runGo builds the program of a module outside the workspace, runs it in dir, and returns what it prints.
func runGo(t *testing.T, module, dir string, env []string, args ...string) string {
	t.Helper()
	build := exec.Command("go", "build", "-o", filepath.Join(t.TempDir(), "program"), ".")
	build.Dir = module
	build.Env = append(os.Environ(), "GOWORK=off", "GOPROXY=off", "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cmd := exec.CommandContext(t.Context(), build.Args[3], args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", cmd, err, out)
	}
	return string(out)
}

// onPath is the environment variable that puts the binary on the path.
func onPath(larder string) string {
	return "PATH=" + filepath.Dir(larder) + string(os.PathListSeparator) + os.Getenv("PATH")
}

// checkTurn checks what the model was offered and told in a turn, and what the agent said at its end.
func checkTurn(t *testing.T, name, said string, model *scriptedModel) {
	t.Helper()
	offered, results := model.seen()
	if len(results) != 1 || !strings.Contains(results[0], answer) || !strings.Contains(results[0], "timescales.md") {
		t.Fatalf("%s: the tool told the model %q", name, results)
	}
	var lookUp function
	for _, f := range offered {
		if f.Name == "look_up" {
			lookUp = f
		}
	}
	var schema struct {
		Properties map[string]struct{ Type, Description string }
		Required   []string
	}
	if err := json.Unmarshal(lookUp.Parameters, &schema); err != nil {
		t.Fatalf("%s: the model was offered %v: %v", name, offered, err)
	}
	query := schema.Properties["query"]
	if len(schema.Properties) != 1 || query.Type != "string" || query.Description != "What to look up. Use the caller's own words." ||
		!reflect.DeepEqual(schema.Required, []string{"query"}) || !strings.Contains(lookUp.Description, "The results may not answer the question.") {
		t.Errorf("%s: the model was offered %+v with %s", name, lookUp, lookUp.Parameters)
	}
	if _, after, ok := strings.Cut(said, "agent: I found: "); !ok || !strings.Contains(after, answer) {
		t.Errorf("%s: the agent said %s", name, said)
	}
}

// testStarts runs the three starts of the README, as they stand, where larder is on the path and dist/ is there.
func testStarts(t *testing.T, python pythonEnv, larder, dir string) {
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(readme), "\n## Use it in an agent\n")
	if !ok {
		t.Fatal("README.md has no section \"Use it in an agent\"")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	starts := regexp.MustCompile("(?ms)^```(go|python)\n(.*?)^```$").FindAllStringSubmatch(section, -1)
	if len(starts) != 3 {
		t.Fatalf("the section has %d starts, want 3", len(starts))
	}
	repository, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	model := newScriptedModel(t)
	env := append(model.environment(), onPath(larder))
	for i, start := range starts {
		language, program, folder := start[1], start[2], t.TempDir()
		var out string
		if language == "go" {
			writeFiles(t, folder, map[string]string{
				"go.mod":  "module program\n\ngo 1.25.0\n\nrequire example.com/larder v0.0.0\n\nreplace example.com/larder => " + repository + "\n",
				"main.go": program,
			})
			out = runGo(t, folder, dir, nil)
		} else {
			writeFiles(t, folder, map[string]string{"start.py": program})
			out = python.run(t, dir, env, nil, filepath.Join(folder, "start.py"))
		}
		t.Logf("start %d, %s\n%s", i+1, language, out)
		if !strings.Contains(out, "Refund issued") || !strings.Contains(out, "refund-timescales.md") {
			t.Errorf("start %d prints\n%s", i+1, out)
		}
	}
}
