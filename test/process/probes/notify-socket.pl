# usage: notify-socket.pl PATH
# Receives what a service manager does, one datagram a line, its lines joined by a bar.
use strict;
use warnings;
use Socket;
socket(my $socket, PF_UNIX, SOCK_DGRAM, 0) or die "socket: $!";
unlink $ARGV[0];
bind($socket, sockaddr_un($ARGV[0])) or die "bind: $!";
$| = 1;
print "bound\n";
while (defined recv($socket, my $message, 65536, 0)) {
    $message =~ s/\n+$//;
    $message =~ s/\n/|/g;
    # systemd-notify asks so whether its message has been read.
    print "$message\n" unless $message eq 'BARRIER=1';
}
