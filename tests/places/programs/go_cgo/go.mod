module places

go 1.19
