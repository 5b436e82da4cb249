package models

import (
	"bytes"
	"slices"
	"strings"
	"testing"
)

func TestEmbeddedLock(t *testing.T) {
	lock, err := ParseLock(embedded)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(lock.encode(), embedded) {
		t.Error("encoding the parsed lock gives other bytes")
	}
	var names []string
	sources := 0
	for _, m := range lock.Models {
		names = append(names, m.Name)
		sources += len(m.ONNX.Sources) + len(m.Tokenizer.Sources)
	}
	if want := []string{"all-MiniLM-L6-v2", "e5-small-v2"}; !slices.Equal(names, want) {
		t.Errorf("models are %q, want %q", names, want)
	}
	libraries := 0
	for _, lib := range lock.Runtime.Libraries {
		if lib.File != nil {
			libraries++
			sources += len(lib.File.Sources)
		}
	}
	if libraries < 5 || sources < 15 {
		t.Errorf("the lock has %d libraries and %d sources, want at least 5 and 15", libraries, sources)
	}
	minilm, err := lock.Model("all-MiniLM-L6-v2")
	if err != nil {
		t.Fatal(err)
	}
	if minilm.Dimensions != 384 || minilm.MaxTokens != 256 || minilm.Pooling != "mean" || minilm.QueryPrefix != "" || minilm.PassagePrefix != "" {
		t.Errorf("facts of all-MiniLM-L6-v2 are %+v", minilm)
	}
	if got := minilm.ONNX.Sources[0].Kind; got != URL {
		t.Errorf("the first source of all-MiniLM-L6-v2 is of kind %s, want url", got)
	}
	e5, err := lock.Model("e5-small-v2")
	if err != nil {
		t.Fatal(err)
	}
	if e5.MaxTokens != 512 || e5.QueryPrefix != "query: " || e5.PassagePrefix != "passage: " {
		t.Errorf("facts of e5-small-v2 are %+v", e5)
	}
	if _, err := lock.Model("gone"); err == nil || !strings.Contains(err.Error(), "all-MiniLM-L6-v2, e5-small-v2") {
		t.Errorf("an unknown model gives the error %v, which should list the known ones", err)
	}
}

func TestLockIsACopy(t *testing.T) {
	Lock().Models[0].ONNX.Sources[0].URL = "changed"
	if Lock().Models[0].ONNX.Sources[0].URL == "changed" {
		t.Error("a change of one copy shows in the next")
	}
}

func TestParseLockRefuses(t *testing.T) {
	const digest = "759c3cd2b7fe7e93933ad23c4c9181b7396442a2ed746ec7c1d46192c469c46e"
	for _, test := range []struct {
		name     string
		old, new string // the first occurrence of old is replaced
		want     string // part of the error
	}{
		{"unknown key", `"pooling":`, `"poolin":`, `unknown field "poolin"`},
		{"unknown key, line", `"pooling":`, `"poolin":`, "line 8:"},
		{"repeated key", `"pooling": "mean",`, `"pooling": "mean", "pooling": "mean",`, "canonical"},
		{"other case", `"pooling":`, `"Pooling":`, "canonical"},
		{"after the end", "\n}\n", "\n}\n{}\n", "canonical"},
		{"no line end", "\n}\n", "\n}", "canonical"},
		{"indentation", "\n  \"format\"", "\n \"format\"", "line 2"},
		{"escape", `"mean"`, `"\u006dean"`, "canonical"},
		{"not JSON", "{", "[", "line 2"},
		{"cut off", `"runtime": {`, "", "models.lock: line"},
		{"wrong type", `"dimensions": 384`, `"dimensions": "384"`, "string"},
		{"other format", `"format": 1`, `"format": 2`, "format is 2"},
		{"no dimensions", `"dimensions": 384`, `"dimensions": 0`, "models[0].dimensions: is 0"},
		{"no tokens", `"max_tokens": 256`, `"max_tokens": -1`, "models[0].max_tokens"},
		{"other pooling", `"pooling": "mean"`, `"pooling": "cls"`, "models[0].pooling"},
		{"model twice", `"name": "e5-small-v2"`, `"name": "all-MiniLM-L6-v2"`, "twice"},
		{"model name", `"name": "e5-small-v2"`, `"name": "../e5"`, "models[1].name"},
		{"file name", `"name": "model.onnx"`, `"name": "a/b"`, "models[0].onnx.name"},
		{"short digest", digest, digest[:62], "models[0].onnx.sources[0].sha256"},
		{"upper case digest", digest, strings.ToUpper(digest), "models[0].onnx.sources[0].sha256"},
		{"no size", `"size": 90387606`, `"size": 0`, "models[0].onnx.sources[0].size"},
		{"vast size", `"size": 90387606`, `"size": 9000000000000`, "models[0].onnx.sources[0].size"},
		{"sources disagree", `"size": 90387606`, `"size": 90387607`, "models[0].onnx.sources[1]: sha256 and size differ"},
		{"unknown kind", `"kind": "url"`, `"kind": "ftp"`, "models[0].onnx.sources[0].kind"},
		{"not https", `"url": "https:`, `"url": "http:`, "not an https address"},
		{"password", `"url": "https://`, `"url": "https://user:secret@`, "not an https address"},
		{"key of another kind", `"url": "https:`, `"path": "x", "url": "https:`, "keys that do not belong to kind url"},
		{"coordinates", `:1.19.0-beta29"`, `"`, "models[0].onnx.sources[1].artifact"},
		{"option as coordinates", `"artifact": "dev`, `"artifact": "-dev`, "models[0].onnx.sources[1].artifact"},
		{"option as package", `"package": "onnxruntime`, `"package": "--index-url=x`, "runtime.libraries[0].file.sources[0].package"},
		{"package without version", `"onnxruntime==1.26.0"`, `"onnxruntime"`, "runtime.libraries[0].file.sources[0].package"},
		{"python", `"python": "3.12"`, `"python": "3"`, "runtime.libraries[0].file.sources[0].python"},
		{"tag", `"tag": "manylinux_2_28_x86_64"`, `"tag": "a b"`, "runtime.libraries[0].file.sources[0].tag"},
		{"path leaves", `"path": "onnxruntime/capi`, `"path": "../capi`, "runtime.libraries[0].file.sources[0].path"},
		{"absolute path", `"path": "onnxruntime/capi`, `"path": "/capi`, "runtime.libraries[0].file.sources[0].path"},
		{"platform", `"platform": "darwin/amd64"`, `"platform": "plan9/amd64"`, "runtime.libraries: has the platforms"},
		{"neither file nor reason", `"unavailable": "no package`, `"unavailable": "", "x": "no package`, `unknown field "x"`},
		{"no reason", `"unavailable": "no package of this version holds a library for it"`, `"unavailable": ""`, "runtime.libraries[2]: needs either"},
		{"sum", `"sum": "h1:`, `"sum": "h2:`, "tokenizers.sum"},
		{"target", `"rust": "x86_64-unknown-linux-gnu"`, `"rust": "--help"`, "tokenizers.targets[0].rust"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if !bytes.Contains(embedded, []byte(test.old)) {
				t.Fatalf("models.lock no longer contains %q", test.old)
			}
			_, err := ParseLock(bytes.Replace(embedded, []byte(test.old), []byte(test.new), 1))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want one that contains %q", err, test.want)
			}
		})
	}
	if _, err := ParseLock(nil); err == nil {
		t.Error("nothing is accepted as a lock")
	}
}

func TestParseLockReportsAllAtOnce(t *testing.T) {
	data := bytes.Replace(embedded, []byte(`"dimensions": 384`), []byte(`"dimensions": 0`), 1)
	data = bytes.Replace(data, []byte(`"sum": "h1:`), []byte(`"sum": "h2:`), 1)
	_, err := ParseLock(data)
	if err == nil || !strings.Contains(err.Error(), "dimensions") || !strings.Contains(err.Error(), "tokenizers.sum") {
		t.Errorf("error is %v, want one that names both faults", err)
	}
}

func FuzzParseLock(f *testing.F) {
	f.Add(embedded)
	f.Add([]byte(`{"format":1}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		lock, err := ParseLock(data)
		if err == nil && !bytes.Equal(lock.encode(), data) {
			t.Error("an accepted lock encodes to other bytes")
		}
	})
}
