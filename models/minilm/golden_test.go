package minilm

// The weights of synthetic(tiny), all vectors that TestGolden encodes, and the first elements of a few.
const (
	goldenWeights = "fae92ce59c879c17d05a6452acd30781d9e82f6011da34fa01da269ca3b960e0"
	goldenAll     = "fa6ec4a6a741079d5e963e1ff2e3ab3906cacb68bed5e6a7b7109fd0d4a0d2d7"
)

var goldenVectors = map[int]string{
	1:  "be3cfb1e 3e2795af 3dd3ac0c 3d60bbc8 3e3a3af4 3dc93bb9 3d415b04 bd33df9f",
	3:  "bd912f96 3d811d28 bd0ca968 3e045ebd be38ce67 be6e4ac6 bd2f0836 be772520",
	12: "bdc352d7 bd7a1345 3ddfa24e 3d9c5a76 bd7e2973 be409a55 3e55cfc6 bd9785be",
	40: "bd3056de be258135 3dc86e8b 3ddc488b be0fa258 bebbb1e3 3e0e3c67 3d061da2",
}
