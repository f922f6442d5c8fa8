module crds

go 1.25

require github.com/openshift/api v0.0.0-20260728120005-8ba0b25b0f29
