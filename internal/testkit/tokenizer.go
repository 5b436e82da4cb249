package testkit

import (
	"encoding/json"
	"fmt"
)

// Tokenizer returns a tokenizer.json, as models are published with, of the vocabulary that [Encoder] has.
func Tokenizer() []byte {
	ids := map[string]int{}
	for id, token := range vocabulary() {
		ids[token] = id
	}
	vocab, err := json.Marshal(ids)
	if err != nil {
		panic(err) // strings and numbers are JSON
	}
	return fmt.Appendf(nil, `{"version": "1.0", "truncation": {"max_length": 128}, "padding": null, "added_tokens": [],
	"normalizer": {"type": "BertNormalizer", "clean_text": true, "handle_chinese_chars": true, "strip_accents": null, "lowercase": true},
	"pre_tokenizer": {"type": "BertPreTokenizer"},
	"model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100, "vocab": %s}}`, vocab)
}
