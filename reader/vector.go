package reader

import "example.com/larder/artifact"

// A QueryVector is a query's vector as chunks are compared with it.
type QueryVector struct {
	Codes  []int8  // of the vector, quantized
	Scale  float64 // of the codes
	Centre float64 // dot product of the vector with the centre of the chunks' vectors
}

// Set makes q of a query's vector, of length 1, and the centre of the chunks' vectors, which is as long. It keeps no
// reference to either.
func (q *QueryVector) Set(vector, centre []float32) {
	if len(q.Codes) != len(vector) {
		q.Codes = make([]int8, len(vector))
	}
	q.Scale = float64(artifact.QuantizeInt8(q.Codes, vector, nil))
	q.Centre = dot(vector, centre)
}

// Cosine compares the query with the vector of a chunk, given as [artifact.Vectors] holds it: from the codes of both,
// whose sum is exact, so that every architecture ranks alike. codes are as many as q.Codes.
func (q *QueryVector) Cosine(scale float32, codes []byte) float64 {
	sum := int32(0)
	for k, c := range q.Codes {
		sum += int32(c) * int32(int8(codes[k]))
	}
	// The conversion keeps the product from being fused with the sum on some architectures.
	about := float64(float64(scale) * q.Scale * float64(sum))
	return max(-1, min(1, q.Centre+about))
}
