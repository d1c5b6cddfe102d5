module dumps

go 1.18
