#!/bin/bash
# usage: forward.sh PORT
# Connects its standard input and output to a port of this machine's loopback.
exec 3<> "/dev/tcp/127.0.0.1/$1"
cat <&3 &
cat >&3
wait
