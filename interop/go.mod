module example.com/larder/interop

go 1.26.0

require (
	example.com/larder v0.0.0
	github.com/RoaringBitmap/roaring/v2 v2.30.0
	github.com/daulet/tokenizers v1.24.0
	golang.org/x/text v0.44.0
)

require (
	github.com/bits-and-blooms/bitset v1.24.4 // indirect
	github.com/mschoch/smat v0.2.0 // indirect
	golang.org/x/sys v0.50.0 // indirect
)

replace (
	example.com/larder => ../
	example.com/larder/pipeline => ../pipeline
)
