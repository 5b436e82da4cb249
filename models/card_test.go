package models_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"testing"

	"example.com/larder/internal/testkit"
	"example.com/larder/models"
)

func TestCard(t *testing.T) {
	data := testkit.Encoder(32)[models.CardFile].Data
	c, err := models.ParseCard(data)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(c.Marshal(), data) {
		t.Errorf("parsed and marshalled, the card is\n%s", c.Marshal())
	}
	if want := fmt.Sprintf("%x", sha256.Sum256(data)); c.Digest() != want {
		t.Errorf("digest %s, want %s", c.Digest(), want)
	}
	c.QueryPrefix = "<query> & "
	if data := c.Marshal(); !bytes.Contains(data, []byte(`"<query> & "`)) {
		t.Errorf("HTML is escaped:\n%s", data)
	}
	if _, err := models.ParseCard(c.Marshal()); err != nil {
		t.Error(err)
	}
}

func TestParseCardErrors(t *testing.T) {
	good := string(testkit.Encoder(32)[models.CardFile].Data)
	for _, c := range []struct{ old, new, want string }{
		{good, "", "model.json: empty file"},
		{good, "null\n", "canonical form"},
		{good, good + "\n", "canonical form"},
		{"}\n", "}", "canonical form"},
		{good, "{" + good, "invalid character"},
		{`  "name"`, `  "nom"`, `unknown field "nom"`},
		{`  "name"`, `   "name"`, "canonical form: differs at byte 42"},
		{`  "pooling": "mean",`, `  "pooling": "mean",` + "\n" + `  "pooling": "mean",`, "canonical form"},
		{`  "query_prefix": "",` + "\n", "", "canonical form"},
		{`"query_prefix"`, `"Query_Prefix"`, "canonical form"},
		{`"query_prefix": ""`, `"query_prefix": "\u0026"`, "canonical form"},
		{`"query_prefix": ""`, "\"query_prefix\": \"\xff\"", "canonical form"},
		{`"query_prefix": ""`, `"query_prefix": "\n"`, "control characters"},
		{`"passage_prefix": ""`, `"passage_prefix": "` + strings.Repeat("x", 300) + `"`, "more than 256 bytes"},
		{"1-draft", "2", "prepare the encoder again"},
		{`"mean"`, `"cls"`, `pooling is "cls", want mean`},
		{`"synthetic-32"`, `"../x y"`, "other characters"},
		{`"synthetic-32"`, `""`, "name has 0 bytes"},
		{`"dimensions": 32`, `"dimensions": 0`, "dimensions is 0"},
		{`"dimensions": 32`, `"dimensions": 32.0`, "cannot unmarshal"},
		{`"max_tokens": 64`, `"max_tokens": -1`, "max_tokens is -1"},
		{`"vocab.txt"`, `"weights.bin"`, "files are not"},
		{`"source": "`, `"source": "A`, "source is not"},
		{`"tokenizer": "`, `"tokenizer": "Z`, "tokenizer is not"},
		{`"sha256": "`, `"sha256": "0`, "sha256 of vocab.txt"},
		{`"size": `, `"size": -`, "size of vocab.txt is -"},
	} {
		data := strings.Replace(good, c.old, c.new, 1)
		if data == good {
			t.Fatalf("the card has no %q", c.old)
		}
		_, err := models.ParseCard([]byte(data))
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.60q for %.60q: error %v, want %q", c.new, c.old, err, c.want)
		}
	}
}

// A card of another format is named as such, whatever else is in it.
func TestParseCardFormat(t *testing.T) {
	good := string(testkit.Encoder(32)[models.CardFile].Data)
	for name, c := range map[string]struct {
		old, new string
		format   bool
	}{
		"another format":                {"1-draft", "2", true},
		"another format's field":        {`encoder/1-draft",`, `encoder/2", "normal": true,`, true},
		"this format's unknown field":   {`1-draft",`, `1-draft", "normal": true,`, false},
		"no format":                     {"larder-encoder/1-draft", "", true},
		"a format that is not a string": {`"larder-encoder/1-draft"`, "1", false},
	} {
		_, err := models.ParseCard([]byte(strings.Replace(good, c.old, c.new, 1)))
		if err == nil || errors.Is(err, models.ErrFormat) != c.format {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func FuzzParseCard(f *testing.F) {
	f.Add(testkit.Encoder(32)[models.CardFile].Data)
	f.Fuzz(func(t *testing.T, data []byte) {
		if c, err := models.ParseCard(data); err == nil && !bytes.Equal(c.Marshal(), data) {
			t.Errorf("parsed and marshalled, %q is %q", data, c.Marshal())
		}
	})
}
