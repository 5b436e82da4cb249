module example.com/larder

go 1.25.0
