// Pins the modules of Butane. To move to another version, change it, then run `go install -mod=mod` with the package
// that butane.ts names.
module programs

go 1.25

require github.com/coreos/butane v0.25.1
