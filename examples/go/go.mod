module example.com/larder/examples/go

go 1.25.0

require example.com/larder v0.0.0

replace example.com/larder => ../..
