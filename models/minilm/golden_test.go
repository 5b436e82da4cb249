package minilm

// The weights of synthetic(tiny), all vectors that TestGolden encodes, and the first elements of a few. Whoever changes
// them raises Builder.
const (
	goldenWeights = "8b8160f0a96108e909a4f63739864d790f8407b3851d540efddd75d20916d30b"
	goldenAll     = "808a7e382e2ebc39a47c87fd66637a5ad706c82da96c012a7cbdff35e5f35e58"
)

var goldenVectors = map[int]string{
	1:  "be3b5ef2 3e25f17b 3dd3be7d 3d5f0f38 3e38325a 3dce5d4a 3d478ae7 bd2faa51",
	3:  "bd96a2b1 3d8618eb bd0bf8c1 3e024dfc be39437c be6b8599 bd2f2eca be760bed",
	12: "bdc4aa7d bd78b8d6 3de117df 3d9ca50e bd7eb0a2 be404087 3e5504aa bd974d37",
	40: "bd2ea889 be2586d7 3dc8175e 3ddaf23d be0ffdc0 bebbad90 3e0f5dc3 3cfff196",
}
