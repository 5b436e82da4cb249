//go:build !ORT

package pipeline

import "example.com/larder/models/wordpiece"

// HasONNX says that this program was built without ONNX Runtime: only embedder: native works.
const HasONNX = false

func newONNX(ModelFiles, string, string, *wordpiece.Tokenizer, map[string]string) (Embedder, error) {
	return nil, ErrNoONNX
}

// newTokenizer returns the tokenizer that chunks are measured with.
func newTokenizer(_ string, own *wordpiece.Tokenizer) (tokenSplitter, func() error, error) {
	return wordPieces{own}, func() error { return nil }, nil
}
