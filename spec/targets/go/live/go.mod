module sonde.example/live

go 1.18
