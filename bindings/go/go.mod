module volta

go 1.19
