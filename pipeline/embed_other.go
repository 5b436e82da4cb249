//go:build !ORT

package pipeline

import (
	"errors"

	"example.com/larder/models/wordpiece"
)

// HasONNX says that this program was built without ONNX Runtime: only embedder: native works.
const HasONNX = false

// errNoONNX says that a base wants an embedder that this program was built without.
var errNoONNX = errors.New("embedder: onnx needs a larder that was built with ONNX Runtime, and this one was not")

func newONNX(ModelFiles, string, string, *wordpiece.Tokenizer, map[string]string) (Embedder, error) {
	return nil, errNoONNX
}

// newTokenizer returns the tokenizer that chunks are measured with.
func newTokenizer(_ string, own *wordpiece.Tokenizer) (tokenSplitter, func() error, error) {
	return wordPieces{own}, func() error { return nil }, nil
}
